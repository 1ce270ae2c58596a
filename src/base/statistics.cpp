#include "base/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace refrain {

double quantile(std::vector<double> numbers, double q) {
  RC_CHECK(!numbers.empty() && q >= 0 && q <= 1, "{} of {} numbers", q, numbers.size());
  std::sort(numbers.begin(), numbers.end());
  const double rank = q * static_cast<double>(numbers.size() - 1);
  const auto below = static_cast<size_t>(rank);
  const size_t above = std::min(below + 1, numbers.size() - 1);
  return std::lerp(numbers[below], numbers[above], rank - static_cast<double>(below));
}

}  // namespace refrain
