// Any bytes as a configuration file, once as YAML and once as JSON.
#include <string_view>

#include "config/check/check.h"
#include "config/inputs/files/config_file.h"
#include "findings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace refrain;
  using namespace refrain::config;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"a.yaml", "a.json"}) {
    const auto read = read_config_text(text, name);
    fuzz::hold(read, size);
    if (read.value) check(*read.value, read.findings, Dialect::kRefrain);
  }
  return 0;
}
