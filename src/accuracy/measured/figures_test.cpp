#include "accuracy/measured/figures.h"

#include <gtest/gtest.h>

namespace refrain::accuracy {
namespace {

TEST(Figures, ANumberMayHaveAMarkBeforeAndARemarkBehind) {
  EXPECT_EQ(figure_of("47.2"), 47.2);
  EXPECT_EQ(figure_of("~59"), 59);
  EXPECT_EQ(figure_of("1667 (1576)"), 1667);
}

TEST(Figures, RangesDifferencesAndWordsAreNone) {
  for (const char* text : {"467-520", "+300 to +500", "-4.24", "", "~", "none", "41.20 -> 46.18"}) {
    EXPECT_EQ(figure_of(text), std::nullopt) << text;
  }
}

TEST(Figures, BinaryAndDecimalUnitsAreToldApart) {
  EXPECT_EQ(peak_of("2", "allocated (GiB)")->bytes, Bytes(int64_t{2} << 30));
  EXPECT_EQ(peak_of("2", "max allocated after iteration 2 (decimal GB)")->bytes, Bytes(2000000000));
  EXPECT_EQ(peak_of("2", "memory allocated (GB)")->bytes, Bytes(2000000000));
}

TEST(Figures, ThePeakOfTheFirstRankIsOne) {
  EXPECT_EQ(peak_of("2", "rank-0 peak allocated (GiB)")->rank, PeakRank::kFirst);
  EXPECT_EQ(peak_of("2", "max allocated, PP stage 0, iteration 2 (GB)")->rank, PeakRank::kFirst);
  EXPECT_EQ(peak_of("2", "allocated (GiB)")->rank, PeakRank::kHighest);
}

TEST(Figures, WhatIsNoPeakOfAllocatedBytesIsNotCompared) {
  for (const char* kind : {"delta of peak memory vs no recompute (GiB)", "upper bound (GiB)",
                           "device total seen (GiB, from MiB)", "reserved (GiB)"}) {
    EXPECT_FALSE(peak_of("2", kind)) << kind;
  }
  EXPECT_FALSE(peak_of("-4.24", "allocated (GiB)"));
  EXPECT_FALSE(peak_of("0", "allocated (GiB)"));
  EXPECT_FALSE(peak_of("99999999", "allocated (GiB)"));
}

}  // namespace
}  // namespace refrain::accuracy
