// A recompute plan for a Megatron run, layer by layer: what costs the step least inside a budget,
// finer than Megatron's settings, which say the same of every layer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/megatron/choose_setting.h"

namespace refrain::plan {

struct LayerPlan {
  std::vector<mcore::Recompute> layers;  // of each decoder layer of the model
  mcore::Recompute depths;               // of prediction depths: as the chosen setting has it
  MegatronPrediction prediction;
  double setting_step_s = 0;  // the chosen setting, priced layer by layer as the plan is
  double lower_bound_s = 0;   // no plan of these choices inside the budget takes less a step
  int64_t num_examined = 0;   // choices of a layer, beaten ones too
  int64_t num_replays = 0;    // of a rank's allocations

  /// Of the lower bound; 0: proven to be the least.
  double gap() const { return prediction.time.step_s / lower_bound_s - 1; }
};

/// The run under the plan.
mcore::Run planned(const mcore::Run& run, const LayerPlan& plan);

/// The plan for a run, with `chosen`, the cheapest setting, to start from. A step takes as long as
/// its slowest rank, so ranks with time to spare are only made to fit. Nothing where no plan was
/// found that is sure to fit, or where whole layers are offloaded.
///
/// Each plan is proven on the rank's replayed allocations; the search itself adds up what layers
/// hold for backward. The lower bound reckons with what else a rank holds whenever a
/// backward begins, which no plan changes.
std::optional<LayerPlan> plan_layers(const mcore::Run& run, const cost::DeviceProfile& device,
                                     Bytes budget, const PredictedSetting& chosen,
                                     const cost::Calibration& calibration = {});

}  // namespace refrain::plan
