#include "base/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace refrain {
namespace {

TEST(ParallelFor, TakesEveryTurnOnce) {
  for (const size_t count : {0, 1, 2, 1000}) {
    std::vector<int> turns(count);
    parallel_for(count, [&](size_t i) { ++turns[i]; });
    EXPECT_EQ(turns, std::vector<int>(count, 1));
  }
}

TEST(ParallelFor, InsideOfATurnIsAPlainLoop) {
  std::atomic<int> sum = 0;
  parallel_for(8, [&](size_t) {
    std::vector<size_t> order;  // written by one thread only, or the sanitizer says so
    parallel_for(5, [&](size_t i) { order.push_back(i); });
    std::vector<size_t> expected(5);
    std::iota(expected.begin(), expected.end(), 0);
    if (order == expected) ++sum;
  });
  EXPECT_EQ(sum, 8);
}

TEST(ParallelFor, ThrowsOnWhatATurnThrows) {
  EXPECT_THROW(parallel_for(100,
                            [](size_t i) {
                              if (i == 57) throw std::runtime_error("turn 57");
                            }),
               std::runtime_error);
}

}  // namespace
}  // namespace refrain
