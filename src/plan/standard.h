// What Megatron's own vocabulary would give: the settings that a plan is compared with.
#pragma once

#include <vector>

#include "config/recompute_setting.h"
#include "plan/planner.h"

namespace refrain::plan {

struct StandardStep {
  config::RecomputeSetting setting;
  Bytes peak;
  cost::Timing timing;
};

/// Every subset of labels, then `full` with `uniform` and `block` of every number of layers (of
/// models beyond 32 layers: every power of two), each lowered under `demand` and priced.
std::vector<StandardStep> standard_steps(const Workload& workload);

/// The fastest that fits; null where none does. `megatron_only` leaves out our own label.
const StandardStep* fastest_inside(const std::vector<StandardStep>& steps, Bytes budget,
                                   bool megatron_only);

}  // namespace refrain::plan
