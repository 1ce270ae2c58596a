// What every pipeline rank of a run holds at its worst, as PyTorch's allocator counts it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/replay.h"
#include "allocator/settings.h"
#include "base/quantity.h"
#include "mcore/run.h"

namespace refrain::mcore::memory {

struct RankPeak {
  int64_t rank = 0;
  Bytes peak_allocated;  // blocks handed out: torch.cuda.max_memory_allocated
  Bytes upper;           // what it should not exceed: see bound.h
  Bytes peak_reserved;   // segments held of the device
  Bytes at_rest;         // allocated after the last step
  std::string where;     // phase of the peak: "step 2: loss head, forward"
  std::vector<allocator::PostingNode> accounts;  // live at the peak, the largest first
};

/// Steps of pipeline rank `rank`, replayed. The second is the steady state, since the optimizer's
/// moments come at the end of the first.
RankPeak rank_peak(const Run& run, int64_t rank, const allocator::Settings& settings = {},
                   int num_steps = 2);

}  // namespace refrain::mcore::memory
