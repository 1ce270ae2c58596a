// What a Megatron run holds on every pipeline rank and how long its step takes.
#pragma once

#include <string>
#include <vector>

#include "allocator/replay.h"
#include "cost/device/device_profile.h"
#include "cost/step_time.h"
#include "mcore/run.h"

namespace refrain::plan {

/// Against a budget: the upper bound is inside it; only the point is; not even that.
enum class Verdict : uint8_t { kFits, kAtRisk, kOutOfMemory };
std::string_view to_text(Verdict verdict);

/// Of the last tensor, context, expert and data rank of a pipeline rank.
struct RankBytes {
  int64_t rank = 0;
  Bytes allocated;  // the point: blocks handed out at the highest moment
  Bytes upper;      // not exceeded as far as the model's known gaps go
  Bytes reserved;   // segments, without a limit
  Bytes at_rest;    // allocated after the last step
  std::string phase;
  std::vector<allocator::PostingNode> accounts;  // at the highest moment
  Verdict verdict = Verdict::kFits;
  /// The point is inside the budget and still a request fails: free memory lies in pieces.
  bool fails_by_fragmentation = false;
  /// expandable_segments:True alone makes that run fit.
  bool expandable_segments_fit = false;
};

struct MegatronPrediction {
  std::vector<RankBytes> ranks;
  cost::StepTime time;

  const RankBytes& fullest() const;
  Verdict verdict() const;  // the worst of any rank
};

/// `budget`: bytes that PyTorch may reserve on a device.
RankBytes predict_rank(const mcore::Run& run, int64_t rank, Bytes budget);
/// Of all ranks. `calibration`: what a measured step says about the device.
MegatronPrediction predict(const mcore::Run& run, const cost::DeviceProfile& device, Bytes budget,
                           const cost::Calibration& calibration = {});

}  // namespace refrain::plan
