// Any bytes as one override: read or refused; what is read is written and read back the same.
#include <cstdlib>
#include <string_view>

#include "config/inputs/overrides/overrides.h"
#include "config/knobs/configuration.h"
#include "findings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace refrain;
  using namespace refrain::config;
  const std::string_view token(reinterpret_cast<const char*>(data), size);
  const auto read = parse_override(token);
  fuzz::hold(read, size);
  if (!read.value) return 0;
  for (const Assignment& one : *read.value) {
    const auto again = parse_override(to_text(one));
    const bool same = again.value && again.value->size() == 1 &&
                      (*again.value)[0].knob == one.knob && (*again.value)[0].value == one.value &&
                      (*again.value)[0].removes == one.removes;
    if (!same) std::abort();
  }
  configure(*read.value, Dialect::kRefrain);
  return 0;
}
