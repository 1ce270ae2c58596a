// An upper bound beside the predicted peak: what the facts of a run leave open, taken at its worst.
//
// - Workspaces. From compute capability 9.0 on PyTorch's builds differ in cuBLAS's default
//   workspace: 32 MiB are assumed there.
// - Routing. A rank's experts get 1.25 times an even share: the capacity factor at which Switch
//   Transformer (arXiv 2101.03961, section 2.2) and GShard drop what is more.
// - The allocator. A block above 1 MiB is not split where less than 1 MiB would be left over
//   (c10/cuda/CUDACachingAllocator.cpp, should_split), so it may be that much larger than what was
//   asked for; which blocks are depends on all that was freed before, on any stream. Tensors of one
//   kind recur in the same place of every layer and fit alike, so besides the misfits of the replay
//   one is allowed for each kind of tensor and size that lives at the peak.
// - Offloaded modules. Groups come back ahead of their backward, or stay for it, by a plan that the
//   manager makes of the first step (tape/offload_order.h, which leaves out how ranks are
//   balanced): one more layer's groups may stay.
// - Resumed runs. Loading gives the optimizer new moments and fills them from those it was handed
//   (TransformerEngine, pytorch/optimizers/fused_adam.py, load_state_dict). When the latter go is
//   up to Python's garbage collector: they may be there to the end.
// - One-element tensors: seven of 512 bytes.
// - Compilation. With the containers of old recordings the first call of a compiled loss runs op by
//   op: differences, exponentials and quotients go to tensors of their own.
//
// Not bounded: what ranks exchange of a checkpoint while it is loaded or saved, routing beyond the
// factor, and 1 to 4 MiB a layer of padded batches in unfused attention with tensor parallelism
// (BERT, T5), which no tensor or misfit known here explains.
#pragma once

#include <cstdint>

#include "allocator/replay.h"
#include "allocator/settings.h"
#include "base/quantity.h"
#include "mcore/memory/rank_stream.h"
#include "mcore/run.h"

namespace refrain::mcore::memory {

/// A rank's stream and what came of it.
struct ReplayedRank {
  allocator::Stream stream;
  allocator::Result result;
};
ReplayedRank replay_rank(const Run& run, int64_t rank, const allocator::Settings& settings,
                         int num_steps, const Assumptions& assumptions = {});

/// True where the run's stream is another one with the open facts at their worst.
bool has_open_sizes(const Run& run);

/// The run with its open facts at their worst, and the assumptions that go with it.
Run cautious(const Run& run);
Assumptions cautious_assumptions();

/// Upper bound of the allocated bytes of a rank; `worst` is its replay with `cautious` facts.
Bytes upper_bound(const Run& run, const ReplayedRank& worst);

/// What blocks that live at the peak of a replayed stream may be larger by, by other histories.
Bytes misfits(const ReplayedRank& replayed);

/// What leaves of one layer's offloaded modules: of the layer for which it is most.
Bytes offloaded_layer(const Run& run);

}  // namespace refrain::mcore::memory
