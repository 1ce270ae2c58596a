#include "mcore/memory/peaks.h"

#include <utility>

#include "mcore/memory/bound.h"

namespace refrain::mcore::memory {

RankPeak rank_peak(const Run& run, int64_t rank, const allocator::Settings& settings,
                   int num_steps) {
  ReplayedRank expected = replay_rank(run, rank, settings, num_steps);
  const Bytes upper = has_open_sizes(run)
                          ? upper_bound(run, replay_rank(cautious(run), rank, settings, num_steps,
                                                         cautious_assumptions()))
                          : upper_bound(run, expected);
  allocator::Result& result = expected.result;
  return {.rank = rank,
          .peak_allocated = result.allocated.bytes,
          .upper = upper,
          .peak_reserved = result.reserved.bytes,
          .at_rest = result.end.usage.allocated,
          .where = result.allocated.phase,
          .accounts = std::move(result.at_peak)};
}

}  // namespace refrain::mcore::memory
