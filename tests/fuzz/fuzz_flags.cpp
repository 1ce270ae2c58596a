// Any lines as the words of a command line.
#include <string>
#include <vector>

#include "config/inputs/flags/flags.h"
#include "config/knobs/configuration.h"
#include "findings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace refrain;
  using namespace refrain::config;
  std::vector<std::string> words(1);
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(data[i]);
    }
  }
  const auto read = parse_flags(words);
  fuzz::hold(read, size);
  if (read.value) configure(*read.value, Dialect::kMcore_0_19_2);
  return 0;
}
