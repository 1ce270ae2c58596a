#include "base/statistics.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace refrain {
namespace {

TEST(Quantile, InterpolatesBetweenTheNearestRanks) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.25), 1.75);
  EXPECT_EQ(quantile({5, 9}, 0), 5);
  EXPECT_EQ(quantile({5, 9}, 1), 9);
  EXPECT_EQ(quantile({7}, 0.3), 7);
}

TEST(Quantile, OfNothingIsABug) { EXPECT_THROW(quantile({}, 0.5), Bug); }

}  // namespace
}  // namespace refrain
