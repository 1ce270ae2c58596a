#include "base/quantity.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace refrain {

std::string to_text(Bytes bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto amount = static_cast<double>(bytes.count());
  size_t unit = 0;
  while (std::abs(amount) >= 1024 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes.count())
                   : fmt::format("{:.2f} {}", amount, kUnits[unit]);
}

}  // namespace refrain
