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
// - Offloaded modules. One group is asked back ahead of its backward and one stays for the backward
//   that comes next (fine_grained_activation_offload.py): twice the largest tensor that waits.
// - One-element tensors: seven of 512 bytes.
// - Compilation. With the containers of old recordings the first call of a compiled loss runs op by
//   op: differences, exponentials and quotients go to tensors of their own.
//
// Not bounded: what a checkpoint holds while it is loaded, and routing beyond the factor.
#pragma once

#include "allocator/replay.h"
#include "allocator/settings.h"
#include "base/quantity.h"
#include "mcore/memory/rank_stream.h"
#include "mcore/run.h"

namespace refrain::mcore::memory {

/// Upper bound of the allocated bytes of pipeline rank `rank` over so many steps.
Bytes upper_bound(const Run& run, int64_t rank, const allocator::Settings& settings = {},
                  int num_steps = 2);

/// The run with its open facts at their worst, and the assumptions that go with it.
Run cautious(const Run& run);
Assumptions cautious_assumptions();

/// What blocks that live at the peak of a replayed stream may be larger by, by other histories.
Bytes misfits(const allocator::Stream& stream, const allocator::Result& result);

}  // namespace refrain::mcore::memory
