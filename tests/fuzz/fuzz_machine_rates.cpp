// Any bytes as the rates of a machine: refused, or read back the same after they were written.
#include <string>

#include "base/error.h"
#include "cost/program/machine_rates.h"
#include "findings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace refrain;
  const auto read = cost::parse_rates(std::string(reinterpret_cast<const char*>(data), size));
  fuzz::hold(read, size);
  if (!read.value) return 0;
  const std::string written = cost::to_json(*read.value);
  const auto again = cost::parse_rates(written);
  RC_CHECK(again.value == read.value, "{}", written);
  return 0;
}
