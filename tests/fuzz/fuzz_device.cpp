// Any bytes as a device profile: refused, or one whose numbers lie within their bounds.
#include <string_view>

#include "base/error.h"
#include "cost/device/devices.h"
#include "cost/device/profile_fields.h"
#include "findings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace refrain;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = cost::read_device(text);
  fuzz::hold(read, size);
  fuzz::hold(cost::find_device(text), size);
  if (!read.value) return 0;
  for (const cost::ProfileField& field : cost::profile_fields()) {
    const double number = cost::value_of(field, *read.value);
    if (field.optional && number == 0) continue;
    RC_CHECK(number >= field.least && number <= field.most, "{}: {}", field.name, number);
  }
  return 0;
}
