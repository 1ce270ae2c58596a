#include "accuracy/report/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "allocator/replay.h"
#include "allocator/settings.h"
#include "base/error.h"
#include "cost/device/devices.h"
#include "cost/step_time.h"
#include "mcore/memory/not_modelled.h"
#include "mcore/memory/peaks.h"
#include "mcore/memory/rank_stream.h"

namespace refrain::accuracy {
namespace {

using mcore::memory::RankPeak;

/// Milliseconds a step; where the source prints FLOP/s alone, as long as those FLOPs take.
std::optional<double> measured_ms(const Sample& sample, const cost::StepTime& predicted) {
  if (sample.step_ms || !sample.tflops_per_gpu) return sample.step_ms;
  const auto num_gpus = static_cast<double>(sample.run.parallel.num_gpus);
  return predicted.flops.count() / (*sample.tflops_per_gpu * 1e12 * num_gpus) * 1e3;
}

void predict_time(const Sample& sample, Outcome& outcome) {
  if (!sample.step_ms && !sample.tflops_per_gpu) return;
  const auto device = cost::find_device(sample.run.place.device);
  RC_CHECK(device.value, "{}", sample.run.place.device);
  const cost::StepTime predicted = cost::step_time(sample.run, *device.value);
  outcome.time_measured_ms = measured_ms(sample, predicted);
  if (sample.run.model.family == mcore::Family::kT5) {
    return outcome.add_reason("time: an encoder's layers have no price");
  }
  outcome.time_ms = predicted.step_s * 1e3;
  for (const Finding& note : predicted.notes) outcome.add_reason("time: " + note.message);
}

std::vector<int64_t> ranks_of(const MeasuredPeak& peak, int64_t pipeline) {
  if (peak.rank == PeakRank::kFirst) return {0};
  if (peak.rank == PeakRank::kLast) return {pipeline - 1};
  std::vector<int64_t> all;
  for (int64_t rank = 0; rank < pipeline; ++rank) all.push_back(rank);
  return all;
}

allocator::Settings settings_of(const mcore::Run& run, Outcome& outcome) {
  const auto settings = allocator::parse_settings(run.place.allocator_conf);
  if (settings.value) return *settings.value;
  outcome.add_reason("peak: the allocator's settings cannot be read, its defaults are taken");
  return {};
}

void predict_peak(const Sample& sample, Outcome& outcome) {
  if (!sample.peak) return;
  outcome.peak_measured = sample.peak->bytes;
  const mcore::Run run = with_steady_batch(sample.run);
  if (const auto why = mcore::memory::not_modelled(run)) {
    return outcome.add_reason("peak: " + *why);
  }
  const allocator::Settings settings = settings_of(run, outcome);
  Bytes point, upper;
  for (const int64_t rank : ranks_of(*sample.peak, run.parallel.pipeline)) {
    const RankPeak predicted = mcore::memory::rank_peak(run, rank, settings);
    Bytes peak = predicted.peak_allocated;
    if (sample.peak->first_step_only) {
      peak = allocator::replay(mcore::memory::rank_stream(run, rank, 1), settings).allocated.bytes;
    }
    point = std::max(point, peak);
    upper = std::max(upper, predicted.upper);
  }
  outcome.peak_point = point;
  outcome.peak_upper = upper;
}

}  // namespace

mcore::Run with_steady_batch(mcore::Run run) {
  // Layers that a replay passes through in a fraction of a second, and rounds of what is under way
  // that are kept whatever that takes: the allocator's blocks have settled by then.
  constexpr int64_t kQuickPasses = 20000, kRounds = 4;
  const mcore::Parallel& parallel = run.parallel;
  const int64_t layers_on_rank =
      std::max<int64_t>(1, std::ssize(run.model.layers) / parallel.pipeline);
  const int64_t under_way = parallel.pipeline * (parallel.virtual_stages + 1);
  const int64_t enough = std::max(kQuickPasses / layers_on_rank, kRounds * under_way) +
                         run.place.deferred_head_gradients;
  const int64_t round = parallel.pipeline * std::max<int64_t>(1, parallel.group_size);
  const int64_t kept = (enough + round - 1) / round * round;
  if (mcore::num_micro_batches(run) > kept) {
    run.batch.global = kept * run.batch.micro * parallel.data;
  }
  return run;
}

Outcome predict(const Sample& sample, Outcome outcome) {
  outcome.family = sample.family;
  for (const std::string& note : sample.notes) outcome.add_reason(note);
  predict_peak(sample, outcome);
  predict_time(sample, outcome);
  outcome.modelled = outcome.error_percent() || outcome.time_error_percent();
  if (!sample.peak && !outcome.time_measured_ms) outcome.add_reason("nothing to compare with");
  return outcome;
}

}  // namespace refrain::accuracy
