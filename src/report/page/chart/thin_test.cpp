#include "report/page/chart/thin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace refrain::report {
namespace {

std::vector<int64_t> noise(size_t size) {
  std::mt19937_64 random(size);
  std::vector<int64_t> series(size);
  for (int64_t& value : series) value = static_cast<int64_t>(random() % 1000);
  return series;
}

TEST(Thin, AShortSeriesIsKeptWhole) {
  EXPECT_TRUE(thin({}, 2).empty());
  EXPECT_EQ(thin(noise(8), 2), (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_LT(thin(noise(90), 2).size(), 9u);
}

TEST(Thin, ASpikeSurvives) {
  for (const size_t where : {size_t{0}, size_t{1}, size_t{4999}, size_t{9998}, size_t{9999}}) {
    std::vector<int64_t> series(10000, 5);
    series[where] = 6;
    const std::vector<size_t> kept = thin(series, 100);
    EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), where)) << where;
  }
}

TEST(Thin, OfEqualPeaksTheFirstIsKept) {
  std::vector<int64_t> series(1000, 5);
  series[42] = series[43] = 9;
  const std::vector<size_t> kept = thin(series, 10);
  EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), size_t{42}));
  EXPECT_FALSE(std::binary_search(kept.begin(), kept.end(), size_t{43}));
}

// What makes it lossless for the eye: every column spans the same values, begins and ends alike.
TEST(Thin, EveryColumnKeepsItsRangeAndItsEnds) {
  const size_t columns = 37;
  const std::vector<int64_t> series = noise(5003);
  const std::vector<size_t> kept = thin(series, columns);
  ASSERT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_LE(kept.size(), 4 * columns);
  for (size_t column = 0; column < columns; ++column) {
    const size_t begin = column * series.size() / columns;
    const size_t end = (column + 1) * series.size() / columns;
    std::vector<int64_t> seen;
    for (const size_t i : kept) {
      if (i >= begin && i < end) seen.push_back(series[i]);
    }
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.front(), series[begin]);
    EXPECT_EQ(seen.back(), series[end - 1]);
    const auto [low, high] = std::minmax_element(series.begin() + begin, series.begin() + end);
    EXPECT_EQ(*std::min_element(seen.begin(), seen.end()), *low);
    EXPECT_EQ(*std::max_element(seen.begin(), seen.end()), *high);
  }
}

}  // namespace
}  // namespace refrain::report
