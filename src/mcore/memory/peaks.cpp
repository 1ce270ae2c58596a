#include "mcore/memory/peaks.h"

#include "mcore/memory/bound.h"
#include "mcore/memory/rank_stream.h"

namespace refrain::mcore::memory {

RankPeak rank_peak(const Run& run, int64_t rank, const allocator::Settings& settings,
                   int num_steps) {
  allocator::Result result = allocator::replay(rank_stream(run, rank, num_steps), settings);
  return {.rank = rank,
          .peak_allocated = result.allocated.bytes,
          .upper = upper_bound(run, rank, settings, num_steps),
          .peak_reserved = result.reserved.bytes,
          .at_rest = result.end.usage.allocated,
          .where = result.allocated.phase,
          .accounts = std::move(result.at_peak)};
}

std::vector<RankPeak> rank_peaks(const Run& run, const allocator::Settings& settings) {
  std::vector<RankPeak> peaks;
  for (int64_t rank = 0; rank < run.parallel.pipeline; ++rank) {
    peaks.push_back(rank_peak(run, rank, settings));
  }
  return peaks;
}

}  // namespace refrain::mcore::memory
