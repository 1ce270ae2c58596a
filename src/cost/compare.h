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
