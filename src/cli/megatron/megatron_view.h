// How predictions of a Megatron run are shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/megatron/megatron_options.h"
#include "plan/megatron/layer_plan.h"

namespace refrain::cli {

struct MegatronView {
  const MegatronPlanOptions& options;
  Bytes budget;
  std::vector<plan::PredictedSetting> usual;  // the first is no recompute
  plan::PredictedSetting chosen;
  std::optional<plan::LayerPlan> layers;  // nothing: none was found
  std::optional<plan::PredictedSetting> current;
};

std::string to_text(const MegatronView& view);
std::string to_json(const MegatronView& view);

}  // namespace refrain::cli
