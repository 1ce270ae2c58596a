// How a plan of a Megatron run, layer by layer, is shown.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "plan/megatron/layer_plan.h"

namespace refrain::cli {

/// `setting`: the name of the chosen setting, which the plan is compared with. `band_s`: what the
/// step's seconds may be off by.
std::string layer_plan_text(const mcore::Run& run, const plan::LayerPlan& plan,
                            const std::string& setting, double band_s);
nlohmann::ordered_json layer_plan_json(const mcore::Run& run, const plan::LayerPlan& plan);

}  // namespace refrain::cli
