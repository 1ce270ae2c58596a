#include "report/page/wording.h"

#include <gtest/gtest.h>

namespace refrain::report {
namespace {

TEST(Wording, TimesHaveThreeDigitsInAUnitThatFits) {
  EXPECT_EQ(time_text(0), "0");
  EXPECT_EQ(time_text(0.0001234), "0.123 ms");
  EXPECT_EQ(time_text(0.0123456), "12.3 ms");
  EXPECT_EQ(time_text(0.25), "250 ms");
  EXPECT_EQ(time_text(4.5678), "4.57 s");
  EXPECT_EQ(time_text(299), "299 s");
  EXPECT_EQ(time_text(300), "5.00 min");
  EXPECT_EQ(time_text(7200), "2.00 h");
}

TEST(Wording, RecomputeIsSetAgainstTheRestOfTheStep) {
  EXPECT_EQ(overhead_text({.replay_s = 0.2, .step_s = 1.2}), "+20.0 %");
  EXPECT_EQ(overhead_text({.replay_s = 0, .step_s = 1.2}), "+0.0 %");
}

TEST(Wording, AGapIsProvenOrSaid) {
  EXPECT_EQ(gap_text(0), "proven least");
  EXPECT_EQ(gap_text(0.0012), "within 0.12 % of the least");
}

TEST(Wording, DigitsAreGroupedByThree) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(262114304), "262,114,304");
  EXPECT_EQ(grouped(-123456), "-123,456");
}

TEST(Wording, TheExactNumberStandsBehindTheRoundedOne) {
  EXPECT_EQ(bytes_data(Bytes(1152)).markup(), "<data value=\"1152\">1.12 KiB</data>");
  EXPECT_EQ(time_data(0.1).markup(), "<data value=\"0.1\">100 ms</data>");
}

TEST(Wording, OneLayerIsNoRange) {
  EXPECT_EQ(layers_text({.first = 3, .last = 3}), "layer 3");
  EXPECT_EQ(layers_text({.first = 3, .last = 4}), "layers 3 to 4");
}

}  // namespace
}  // namespace refrain::report
