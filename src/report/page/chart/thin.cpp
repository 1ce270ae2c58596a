#include "report/page/chart/thin.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"

namespace refrain::report {

std::vector<size_t> thin(std::span<const int64_t> series, size_t columns) {
  RC_CHECK(columns > 0);
  std::vector<size_t> kept;
  if (series.size() <= 4 * columns) {
    kept.resize(series.size());
    std::iota(kept.begin(), kept.end(), 0);
    return kept;
  }
  for (size_t column = 0; column < columns; ++column) {
    const auto begin = series.begin() + column * series.size() / columns;
    const auto end = series.begin() + (column + 1) * series.size() / columns;
    const std::set<size_t> extremes = {
        static_cast<size_t>(begin - series.begin()),
        static_cast<size_t>(std::min_element(begin, end) - series.begin()),
        static_cast<size_t>(std::max_element(begin, end) - series.begin()),
        static_cast<size_t>(end - 1 - series.begin())};
    kept.insert(kept.end(), extremes.begin(), extremes.end());
  }
  return kept;
}

}  // namespace refrain::report
