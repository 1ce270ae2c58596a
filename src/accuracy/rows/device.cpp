#include "accuracy/rows/device.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace refrain::accuracy {
namespace {

/// Longer words first: "gb200" holds "b200".
constexpr Device kDevices[] = {{"gb200", "gb200", 100, 4},  {"gb300", "gb300", 103, 4},
                               {"b200", "b200", 100, 8},    {"b300", "b300", 103, 8},
                               {"h200", "h200", 90, 8},     {"h100", "h100-80gb", 90, 8},
                               {"a100", "a100-80gb", 80, 8}};

}  // namespace

const Device* device_named(std::string_view text) {
  std::string word(text);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Device& device : kDevices) {
    if (word.find(device.word) != std::string::npos) return &device;
  }
  return nullptr;
}

}  // namespace refrain::accuracy
