#include "report/page/chart/steps.h"

#include <gtest/gtest.h>

namespace refrain::report {
namespace {

TEST(StepLine, HoldsEachHeightUntilTheNext) {
  EXPECT_EQ(step_line({{0, 50}, {2, 20}, {3, 60}}, 7), "M0 50h2v-30h1v40H7");
}

TEST(StepLine, EqualHeightsAreOnePiece) {
  EXPECT_EQ(step_line({{0, 50}, {2, 50}, {3, 50}}, 7), "M0 50H7");
  EXPECT_EQ(step_line({{0, 50}, {2, 50}, {3, 51}}, 7), "M0 50h3v1H7");
}

TEST(StepLine, NoPointsNoLine) {
  EXPECT_EQ(step_line({}, 7), "");
  EXPECT_EQ(step_area({}, 7, 100), "");
}

TEST(StepArea, ReachesDownToTheFloor) {
  EXPECT_EQ(step_area({{1, 50}, {2, 20}}, 7, 100), "M1 50h1v-30H7V100H1Z");
}

}  // namespace
}  // namespace refrain::report
