// Megatron's vocabulary as plans: a RecomputeSetting becomes actions and regions.
#pragma once

#include "config/recompute_setting.h"
#include "model/graph.h"
#include "program/recompute_plan.h"

namespace refrain::plan {

/// Both lowerings of a setting are in the plan; `policy` says which one is used.
program::RecomputePlan make_plan(const model::ModelGraph& graph,
                                 const config::RecomputeSetting& setting,
                                 config::ReplayPolicy policy);

}  // namespace refrain::plan
