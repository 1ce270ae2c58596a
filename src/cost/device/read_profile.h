// Reads a device profile from JSON; what does not fit becomes findings, all of a file at once.
#pragma once

#include <string_view>
#include <vector>

#include "base/finding.h"
#include "cost/device/device_profile.h"

namespace refrain::cost {

/// A profile that may lack fields: what others inherit. `bases` are the profiles it can inherit.
Checked<DeviceProfile> parse_profile(std::string_view text,
                                     const std::vector<DeviceProfile>& bases);

/// A whole profile: what `parse_profile` accepts, with every field that is not optional.
Checked<DeviceProfile> parse_whole_profile(std::string_view text,
                                           const std::vector<DeviceProfile>& bases);

}  // namespace refrain::cost
