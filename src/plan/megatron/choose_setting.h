// The cheapest setting that Megatron can express and that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost/compare.h"
#include "plan/megatron/prediction.h"
#include "plan/megatron/settings.h"

namespace refrain::plan {

struct PredictedSetting {
  mcore::Recompute recompute;
  MegatronPrediction prediction;
};

/// Predictions of these settings for a run that is otherwise the same.
std::vector<PredictedSetting> predict_settings(const mcore::Run& run,
                                               const cost::DeviceProfile& device, Bytes budget,
                                               const std::vector<mcore::Recompute>& settings,
                                               const cost::Calibration& calibration = {});

/// Settings in the order of their predicted step time, until one fits: the cheapest that does.
/// Where none fits, the one whose fullest rank holds least; `verdict` then says so. `known`:
/// predictions that were made already.
PredictedSetting cheapest_that_fits(const mcore::Run& run, const cost::DeviceProfile& device,
                                    Bytes budget, const cost::Calibration& calibration = {},
                                    const std::vector<PredictedSetting>& known = {});

/// A change of the run that may make it fit: evaluated with every layer recomputed, which is about
/// the leanest that Megatron can do.
struct MegatronLever {
  std::string change;  // "--tp 8"
  Bytes peak;          // of the fullest rank
  Verdict verdict = Verdict::kOutOfMemory;
  double step_s = 0;
  cost::ExpectedError error;  // of step_s: a measured step says little of other parallel sizes
  int64_t num_gpus = 0;
};

/// More tensor, pipeline or context ranks, a smaller micro-batch, the distributed optimizer: those
/// that the run's sizes allow, leanest first.
std::vector<MegatronLever> levers_of(const mcore::Run& run, const cost::DeviceProfile& device,
                                     Bytes budget, const cost::Calibration& calibration = {});

}  // namespace refrain::plan
