#include "config/check/raised.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

TEST(Raised, ByAnUnknownKnobDependsOnWhoReadsIt) {
  for (const char* rule : {"knob.unknown", "knob.not-in-dialect"}) {
    EXPECT_EQ(raised_by_knob(rule, Origin::kDefault, Dialect::kRefrain), "TypeError");
    EXPECT_EQ(raised_by_knob(rule, Origin::kRecipe, Dialect::kBridge), "TypeError");
    EXPECT_EQ(raised_by_knob(rule, Origin::kOverride, Dialect::kMcore_0_19_2), "TypeError");
    EXPECT_EQ(raised_by_knob(rule, Origin::kOverride, Dialect::kBridge), "OverridesError");
    EXPECT_EQ(raised_by_knob(rule, Origin::kFlag, Dialect::kMcore_0_19_2), "");
    EXPECT_EQ(raised_by_knob(rule, Origin::kFile, Dialect::kBridge), "");
  }
}

TEST(Raised, NothingIsByAValueOfAnotherType) {
  EXPECT_EQ(raised_by_knob("knob.wrong-type", Origin::kDefault, Dialect::kMcore_0_19_2), "");
}

TEST(Raised, ByReadersOnlyWhereItIsKnown) {
  EXPECT_EQ(raised_by_reading("override.malformed-value"), "OverridesError");
  EXPECT_EQ(raised_by_reading("flag.not-true-or-false"), "SystemExit");
  for (const char* ours : {"override.too-long", "file.too-large", "model.no-such-file"}) {
    EXPECT_EQ(raised_by_reading(ours), "") << ours;
  }
}

}  // namespace
}  // namespace refrain::config
