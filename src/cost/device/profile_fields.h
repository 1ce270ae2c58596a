// The numbers of a device profile: one row a field, from which reading, checking and showing
// follow.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "cost/device/device_profile.h"

namespace refrain::cost {

struct ProfileField {
  using Real = double& (*)(DeviceProfile&);
  using Whole = int64_t& (*)(DeviceProfile&);

  std::string_view name;  // in a profile file
  std::variant<Real, Whole> place;
  double least, most;  // both allowed
  std::string_view unit;
  std::string_view meaning;
  bool optional = false;
};

std::span<const ProfileField> profile_fields();

/// The field's number in `profile`.
double value_of(const ProfileField& field, const DeviceProfile& profile);

}  // namespace refrain::cost
