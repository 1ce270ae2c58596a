// Every allocation of a pipeline rank of a Megatron-Core run, from construction on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "allocator/stream.h"
#include "mcore/run.h"

namespace refrain::mcore::memory {

/// What a run's facts do not decide.
struct Assumptions {
  double expert_load = 1;  // rows that a rank's experts get, as a multiple of an even share
};

/// The allocations of `num_steps` steps on pipeline rank `rank`: of the last tensor, context,
/// expert and data rank there. Two steps reach the steady state: the optimizer's moments come at
/// the end of the first. Marks name the phases; accounts are state, saved, gradient, temporary,
/// head, batch, pipeline and workspace.
allocator::Stream rank_stream(const Run& run, int64_t rank, int num_steps,
                              const Assumptions& assumptions = {});

}  // namespace refrain::mcore::memory
