// The software and hardware of a row of Megatron-LM's functional tests.
#pragma once

#include <string>
#include <vector>

#include "accuracy/rows/table.h"
#include "mcore/run.h"

namespace refrain::accuracy {

/// Reads device, kernels, graphs and overlap, but for what depends on the batch
/// (deferred_head_gradients). Notes say what was assumed.
mcore::Place read_ci_place(RowReader& row, std::vector<std::string>& notes);

/// Reads what of the activations waits in host memory.
mcore::Offload read_ci_offload(RowReader& row);

}  // namespace refrain::accuracy
