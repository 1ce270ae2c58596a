// The order in which a rank's micro-batches run, with the tensors that the schedule's own variables
// keep alive (core/pipeline_parallel/schedules.py).
#pragma once

#include "mcore/memory/stage.h"

namespace refrain::mcore::memory {

/// Runs all micro-batches of one step on pipeline rank `rank`.
void run_schedule(const Run& run, int64_t rank, Stage& stage);

/// Micro-batches (of any chunk) that a rank forwards before its first backward.
int64_t num_warmup(const Run& run, int64_t rank);

}  // namespace refrain::mcore::memory
