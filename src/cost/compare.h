// What one run costs against another, and how far to trust that.
#pragma once

#include "cost/step_time.h"

namespace refrain::cost {

/// Points of the control's step time; the band holds most measured pairs.
struct RelativeCost {
  double percent = 0;
  double band = 0;  // plus or minus
  double least() const { return percent - band; }
  double most() const { return percent + band; }
};

/// `changed` against `control`, which differ in one setting. The band is 1 point or a fifth of the
/// cost where the GPU decides, 3 points or 0.35 of it where the host does: 14 of 15 published pairs
/// lie within.
RelativeCost compare(const StepTime& control, const StepTime& changed);

/// How far off a step time is expected to be where no step was measured, in percent of it: half of
/// the runs lie within `half`, nine of ten within `most`.
struct ExpectedError {
  double half = 0, most = 0;
};

/// From published steps of configurations that were not among those the rates were fitted to (606
/// predictions over five splits of 110 configurations): GPU-bound 6.5 and 19, host-bound 16.6 and
/// 41, models with Mamba layers 18.2 and 38.
ExpectedError expected_error(const mcore::Run& run, const StepTime& time);

/// What of the device a measured step corrects.
enum class AnchorOn : uint8_t {
  kWhatBinds,  // host where the control is host-bound, else GPU
  kGpu,
  kHost,
};

/// The calibration under which the control takes `measured_s`; a finding where none within a factor
/// of 32 does: `time.anchor-out-of-reach`.
Checked<Calibration> anchor(const mcore::Run& control, const DeviceProfile& device,
                            double measured_s, AnchorOn on = AnchorOn::kWhatBinds);

}  // namespace refrain::cost
