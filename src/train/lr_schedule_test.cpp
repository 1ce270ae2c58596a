#include "train/lr_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace refrain::train {
namespace {

using config::OptimizerOptions;

const OptimizerOptions kSchedule = {
    .lr = 0.3, .min_lr = 0.1, .warmup_steps = 10, .decay_steps = 110};

TEST(LrSchedule, WarmUpIsLinearAndEndsAtTheWholeRate) {
  EXPECT_DOUBLE_EQ(learning_rate(kSchedule, 1), 0.03);
  EXPECT_DOUBLE_EQ(learning_rate(kSchedule, 5), 0.15);
  EXPECT_LT(learning_rate(kSchedule, 9), 0.3);
  EXPECT_EQ(learning_rate(kSchedule, 10), 0.3);
  EXPECT_LT(learning_rate(kSchedule, 11), 0.3);
}

TEST(LrSchedule, TheCosineEndsAtTheSmallestRateAndStaysThere) {
  EXPECT_DOUBLE_EQ(learning_rate(kSchedule, 60), 0.2);
  EXPECT_NEAR(learning_rate(kSchedule, 35), 0.2 + 0.1 * std::sqrt(0.5), 1e-15);
  EXPECT_GT(learning_rate(kSchedule, 109), 0.1);
  EXPECT_EQ(learning_rate(kSchedule, 110), 0.1);
  EXPECT_EQ(learning_rate(kSchedule, 111), 0.1);
  EXPECT_EQ(learning_rate(kSchedule, INT64_MAX), 0.1);
}

TEST(LrSchedule, RisesAndThenFalls) {
  for (int64_t u = 2; u <= 110; ++u) {
    EXPECT_EQ(learning_rate(kSchedule, u) > learning_rate(kSchedule, u - 1), u <= 10) << u;
  }
}

TEST(LrSchedule, WithoutWarmUpTheCosineBeginsAtOnce) {
  const OptimizerOptions schedule = {.lr = 1, .min_lr = 0, .warmup_steps = 0, .decay_steps = 2};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1), 0.5);
  EXPECT_EQ(learning_rate(schedule, 2), 0);
}

TEST(LrSchedule, WarmUpMayTakeTheWholeRun) {
  const OptimizerOptions schedule = {.lr = 1, .min_lr = 0.5, .warmup_steps = 4, .decay_steps = 4};
  EXPECT_EQ(learning_rate(schedule, 4), 1);
  EXPECT_EQ(learning_rate(schedule, 5), 0.5);
}

TEST(LrSchedule, EqualRatesAreAConstant) {
  const OptimizerOptions schedule = {.lr = 0.1, .min_lr = 0.1, .warmup_steps = 0, .decay_steps = 7};
  for (int64_t u = 1; u <= 9; ++u) EXPECT_EQ(learning_rate(schedule, u), 0.1);
}

TEST(LrSchedule, StepsCountFromOne) { EXPECT_THROW(learning_rate(kSchedule, 0), Bug); }

}  // namespace
}  // namespace refrain::train
