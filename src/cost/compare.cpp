#include "cost/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace refrain::cost {
namespace {

constexpr double kFarthest = 32;  // a profile that is further off is another device's
constexpr int kBisections = 60;

Calibration scaled(AnchorOn on, double factor) {
  return on == AnchorOn::kHost ? Calibration{.host = factor} : Calibration{.gpu = factor};
}

}  // namespace

RelativeCost compare(const StepTime& control, const StepTime& changed) {
  const double percent = 100 * (changed.step_s / control.step_s - 1);
  const double size = std::abs(percent);
  const bool host = control.micro_batch.host_bound();
  return {percent, host ? std::max(3.0, 0.35 * size) : std::max(1.0, 0.2 * size)};
}

ExpectedError expected_error(const mcore::Run& run, const StepTime& time) {
  const bool mamba =
      std::any_of(run.model.layers.begin(), run.model.layers.end(),
                  [](const mcore::LayerKind& kind) { return kind.mixer == mcore::Mixer::kMamba; });
  if (mamba) return {.half = 18.2, .most = 38};
  if (time.micro_batch.host_bound()) return {.half = 16.6, .most = 41};
  return {.half = 6.5, .most = 19};
}

/// A step's seconds grow with either factor, so bisection on its logarithm finds the one that fits.
Checked<Calibration> anchor(const mcore::Run& control, const DeviceProfile& device,
                            double measured_s, AnchorOn on) {
  const auto seconds = [&](const Calibration& calibration) {
    return step_time(control, device, {.calibration = calibration}).step_s;
  };
  if (on == AnchorOn::kWhatBinds) {
    const bool host = step_time(control, device).micro_batch.host_bound();
    on = host ? AnchorOn::kHost : AnchorOn::kGpu;
  }
  double low = -std::log(kFarthest), high = std::log(kFarthest);
  const double least = seconds(scaled(on, std::exp(low)));
  const double most = seconds(scaled(on, std::exp(high)));
  if (!(measured_s >= least && measured_s <= most)) {  // nor where it is NaN
    return Checked<Calibration>::reject(
        {{"time.anchor-out-of-reach",
          fmt::format("the measured step must be one that the device can take, from {:.3g} to "
                      "{:.3g} s: {:g} s",
                      least, most, measured_s),
          "check the unit, the number of GPUs and the device"}});
  }
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (seconds(scaled(on, std::exp(middle))) < measured_s ? low : high) = middle;
  }
  return Checked<Calibration>::accept(scaled(on, std::exp(high)));
}

}  // namespace refrain::cost
