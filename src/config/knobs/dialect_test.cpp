#include "config/knobs/dialect.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

TEST(Dialect, EveryNameIsReadBack) {
  for (const Dialect dialect : all_dialects()) {
    EXPECT_EQ(parse_dialect(to_text(dialect)).value, dialect) << to_text(dialect);
  }
}

TEST(Dialect, AnUnknownNameGetsTheNearest) {
  const auto parsed = parse_dialect("mcore-0.19.1");
  ASSERT_FALSE(parsed.value);
  EXPECT_EQ(parsed.findings.at(0).rule, "check.unknown-dialect");
  EXPECT_NE(parsed.findings[0].remedy.find("mcore-0.1"), std::string::npos);
}

TEST(DialectSet, SinceAndUntilMeetAtTheRelease) {
  constexpr DialectSet from = since(Dialect::kMcore_0_16_1), to = until(Dialect::kMcore_0_15_3);
  EXPECT_TRUE(from.has(Dialect::kMcore_0_16_1));
  EXPECT_FALSE(from.has(Dialect::kMcore_0_15_3));
  EXPECT_TRUE(to.has(Dialect::kMcore_0_15_3));
  EXPECT_FALSE(to.has(Dialect::kMcore_0_16_1));
  EXPECT_EQ(from | to, kEverywhere);
  EXPECT_TRUE(from.has(Dialect::kRefrain));
  EXPECT_FALSE(to.has(Dialect::kRefrain));
  EXPECT_FALSE((kEverywhere - kMcore).has(Dialect::kMcore_0_19_2));
}

TEST(DialectSet, ReadsAsRanges) {
  EXPECT_EQ(to_text(kEverywhere), "all dialects");
  EXPECT_EQ(to_text(until(Dialect::kMcore_0_14_0)), "mcore-0.12.3 to mcore-0.14.0");
  EXPECT_EQ(to_text(since(Dialect::kMcore_0_18_2)),
            "mcore-0.18.2 to mcore-0.19.2, bridge, refrain");
  EXPECT_EQ(to_text(DialectSet(Dialect::kBridge)), "bridge");
}

}  // namespace
}  // namespace refrain::config
