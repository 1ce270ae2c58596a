// From what tables call a GPU or a cluster to a device profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace refrain::accuracy {

struct Device {
  std::string_view word;     // as tables write it, in lower case
  std::string_view profile;  // name of its device profile
  int compute_capability = 0;
  int64_t gpus_per_node = 8;
};

/// The one that `text` names ("dgx_gb200_2nd", "H100 80GB"); null where it names none.
const Device* device_named(std::string_view text);

}  // namespace refrain::accuracy
