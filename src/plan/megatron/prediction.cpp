#include "plan/megatron/prediction.h"

#include <algorithm>

#include "base/parallel_for.h"
#include "mcore/memory/peaks.h"
#include "mcore/memory/rank_stream.h"

namespace refrain::plan {
namespace {

constexpr int kSteps = 2;  // the optimizer's moments come at the end of the first

}  // namespace

std::string_view to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kAtRisk:
      return "at-risk";
    case Verdict::kOutOfMemory:
      return "out-of-memory";
  }
  return "?";
}

const RankBytes& MegatronPrediction::fullest() const {
  return *std::max_element(ranks.begin(), ranks.end(), [](const RankBytes& a, const RankBytes& b) {
    return a.allocated < b.allocated;
  });
}

Verdict MegatronPrediction::verdict() const {
  Verdict worst = Verdict::kFits;
  for (const RankBytes& rank : ranks) worst = std::max(worst, rank.verdict);
  return worst;
}

RankBytes predict_rank(const mcore::Run& run, int64_t rank, Bytes budget) {
  mcore::memory::RankPeak peak = mcore::memory::rank_peak(run, rank);
  RankBytes bytes{.rank = rank,
                  .allocated = peak.peak_allocated,
                  .upper = peak.upper,
                  .reserved = peak.peak_reserved,
                  .at_rest = peak.at_rest,
                  .phase = peak.where,
                  .accounts = std::move(peak.accounts)};
  if (bytes.allocated > budget) {
    bytes.verdict = Verdict::kOutOfMemory;
    return bytes;
  }
  bytes.verdict =
      bytes.upper <= budget && bytes.reserved <= budget ? Verdict::kFits : Verdict::kAtRisk;
  if (bytes.reserved <= budget) return bytes;
  // More was reserved than there is: replay with the limit, under which cached segments go back.
  const allocator::Stream stream = mcore::memory::rank_stream(run, rank, kSteps);
  const allocator::Limits limits{.device = budget};
  const allocator::SegmentComparison segments = allocator::compare_expandable(stream, {}, limits);
  bytes.fails_by_fragmentation = segments.as_set.failure.has_value();
  bytes.expandable_segments_fit = segments.expandable_fits();
  if (bytes.fails_by_fragmentation) bytes.verdict = Verdict::kOutOfMemory;
  return bytes;
}

MegatronPrediction predict(const mcore::Run& run, const cost::DeviceProfile& device, Bytes budget,
                           const cost::Calibration& calibration) {
  MegatronPrediction prediction{.time = cost::step_time(run, device, {.calibration = calibration})};
  prediction.ranks.resize(run.parallel.pipeline);
  parallel_for(prediction.ranks.size(), [&](size_t rank) {
    prediction.ranks[rank] = predict_rank(run, static_cast<int64_t>(rank), budget);
  });
  return prediction;
}

}  // namespace refrain::plan
