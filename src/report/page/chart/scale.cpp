#include "report/page/chart/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace refrain::report {
namespace {

std::vector<double> multiples_of(double step, const Scale& scale) {
  std::vector<double> ticks;
  const double last = std::floor(scale.high / step + 1e-9);
  for (double n = std::ceil(scale.low / step - 1e-9); n <= last; ++n)
    ticks.push_back(n * step + 0.0);  // no -0
  return ticks;
}

double least_step(const Scale& scale, int wanted) {
  RC_CHECK(scale.low < scale.high && wanted > 0, "{} to {}", scale.low, scale.high);
  return (scale.high - scale.low) / wanted;
}

}  // namespace

std::vector<double> decimal_ticks(const Scale& scale, int wanted) {
  const double least = least_step(scale, wanted);
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= least) return multiples_of(digit * power, scale);
  }
  return multiples_of(10 * power, scale);
}

std::vector<Bytes> byte_ticks(const Scale& scale, int wanted) {
  const double step = std::exp2(std::max(0.0, std::ceil(std::log2(least_step(scale, wanted)))));
  std::vector<Bytes> ticks;
  for (const double tick : multiples_of(step, scale))
    ticks.emplace_back(static_cast<int64_t>(tick));
  return ticks;
}

std::string tick_text(Bytes bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto amount = static_cast<double>(bytes.count());
  size_t unit = 0;
  for (; std::abs(amount) >= 1024 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  std::string digits = fmt::format("{:.3f}", amount);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return fmt::format("{} {}", digits, kUnits[unit]);
}

}  // namespace refrain::report
