// The order in which a rank's micro-batches run, with the tensors that the schedule's own variables
// keep alive (core/pipeline_parallel/schedules.py).
#pragma once

#include <cstdint>
#include <vector>

#include "mcore/memory/stage.h"

namespace refrain::mcore::memory {

/// Runs all micro-batches of one step on pipeline rank `rank`.
void run_schedule(const Run& run, int64_t rank, Stage& stage);

/// Micro-batches (of any chunk) that a rank forwards before its first backward.
int64_t num_warmup(const Run& run, int64_t rank);

/// A backward of a step as it begins.
struct BackwardMoment {
  int64_t virtual_stage = 0;
  /// Passes whose backward has not run yet, this one among them, of each virtual stage.
  std::vector<int64_t> in_flight;
};

/// All backwards of a step on pipeline rank `rank`, in their order.
std::vector<BackwardMoment> backward_moments(const Run& run, int64_t rank);

}  // namespace refrain::mcore::memory
