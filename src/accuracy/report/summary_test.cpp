#include "accuracy/report/summary.h"

#include <gtest/gtest.h>

namespace refrain::accuracy {
namespace {

Outcome peak(int64_t measured, int64_t point, int64_t upper, std::string family = "a") {
  return {.family = std::move(family),
          .modelled = true,
          .peak_measured = Bytes(measured),
          .peak_point = Bytes(point),
          .peak_upper = Bytes(upper)};
}

TEST(Outcome, ErrorsAreSignedPercentOfWhatWasMeasured) {
  const Outcome high = peak(100, 110, 120), low = peak(100, 95, 100);
  EXPECT_DOUBLE_EQ(*high.error_percent(), 10);
  EXPECT_DOUBLE_EQ(*high.slack_percent(), 20);
  EXPECT_DOUBLE_EQ(*low.error_percent(), -5);
  EXPECT_DOUBLE_EQ(*low.slack_percent(), 0);
  EXPECT_EQ(high.time_error_percent(), std::nullopt);
  EXPECT_DOUBLE_EQ(*Outcome({.time_measured_ms = 200, .time_ms = 150}).time_error_percent(), -25);
}

TEST(Outcome, WhatIsMissingHasNoError) {
  EXPECT_EQ(Outcome({.peak_point = Bytes(1)}).error_percent(), std::nullopt);
  EXPECT_EQ(Outcome({.peak_measured = Bytes(1)}).error_percent(), std::nullopt);
  EXPECT_EQ(peak(0, 1, 1).error_percent(), std::nullopt);
}

TEST(Summary, NothingHasNoErrors) {
  EXPECT_EQ(summarize_errors({}).count, 0);
  const auto summaries = summarize({});
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].num_rows, 0);
}

TEST(Summary, QuantilesIgnoreSignsAndTheWorstKeepsIts) {
  const ErrorSummary summary = summarize_errors({1, -2, 3, -4, 5});
  EXPECT_EQ(summary.count, 5);
  EXPECT_DOUBLE_EQ(summary.abs_median, 3);
  EXPECT_DOUBLE_EQ(summary.abs_p90, 4.6);  // six tenths of the way from 4 to 5
  EXPECT_DOUBLE_EQ(summary.signed_median, 1);
  EXPECT_DOUBLE_EQ(summary.worst, 5);
  EXPECT_EQ(summary.num_under, 2);
  EXPECT_DOUBLE_EQ(summarize_errors({1, -6}).worst, -6);
}

TEST(Summary, AnExactPredictionIsNotUnder) {
  EXPECT_EQ(summarize_errors({0, -0.001}).num_under, 1);
  const auto summaries = summarize({peak(100, 99, 100), peak(100, 100, 99), peak(100, 101, 110)});
  EXPECT_EQ(summaries[0].peak.num_under, 1);
  EXPECT_EQ(summaries[0].upper.num_under, 1);
  EXPECT_DOUBLE_EQ(summaries[0].upper.signed_median, 0);
}

TEST(Summary, FamiliesFollowTheWholeLargestFirst) {
  std::vector<Outcome> outcomes = {peak(100, 101, 102, "few"), peak(100, 103, 104, "many"),
                                   peak(100, 105, 106, "many")};
  outcomes.push_back({.row = 4, .reason = "cannot be read"});
  const auto summaries = summarize(outcomes);
  ASSERT_EQ(summaries.size(), 3u);
  EXPECT_EQ(summaries[0].name, "all");
  EXPECT_EQ(summaries[0].num_rows, 4);
  EXPECT_EQ(summaries[0].num_modelled, 3);
  EXPECT_EQ(summaries[1].name, "many");
  EXPECT_EQ(summaries[2].name, "few");
  EXPECT_EQ(summaries[2].peak.count, 1);
}

}  // namespace
}  // namespace refrain::accuracy
