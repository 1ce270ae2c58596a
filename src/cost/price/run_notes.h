// What of a run the prediction of its seconds does not cover: notes, each with what follows.
#pragma once

#include "base/finding.h"
#include "cost/device/device_profile.h"
#include "mcore/run.h"

namespace refrain::cost {

Findings run_notes(const mcore::Run& run, const DeviceProfile& device);

}  // namespace refrain::cost
