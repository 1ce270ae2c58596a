// The device profiles that Refrain knows, by name, and those of a user's file.
#pragma once

#include <string_view>
#include <vector>

#include "base/finding.h"
#include "cost/device/device_profile.h"

namespace refrain::cost {

/// Every built-in device.
const std::vector<DeviceProfile>& devices();

/// The device called that, by name or alias, whatever the case and punctuation ("H100 SXM"); an
/// unknown name is a finding that names the nearest.
Checked<DeviceProfile> find_device(std::string_view name);

/// A user's profile: `text` is JSON in the form of data/devices/README.md. All findings at once.
Checked<DeviceProfile> read_device(std::string_view text);

}  // namespace refrain::cost
