// Any bytes as a line of `refrain check --batch`: always answered with one line of JSON.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/check/batch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const std::string answer = refrain::cli::judge_line(line, {});
  if (answer.find('\n') != std::string::npos || !nlohmann::json::accept(answer)) std::abort();
  return 0;
}
