#include "config/check/check.h"

#include <gtest/gtest.h>

#include "config/inputs/inputs.h"

namespace refrain::config {
namespace {

CheckReport checked(const std::vector<std::string>& words, Dialect dialect = Dialect::kRefrain) {
  const auto read = read_words(words);
  return check(read.value.value_or(Assignments{}), read.findings, dialect);
}

const CheckFinding* finding(const CheckReport& report, std::string_view id) {
  for (const CheckFinding& found : report.findings) {
    if (found.id == id) return &found;
  }
  return nullptr;
}

TEST(Check, AFindingShowsWhereItsKnobsComeFrom) {
  const CheckReport report = checked({"--recompute-granularity", "full"});
  EXPECT_FALSE(report.accepted);
  const CheckFinding* missing = finding(report, "recompute.method-missing");
  ASSERT_NE(missing, nullptr);
  EXPECT_EQ(missing->severity, "error");
  EXPECT_EQ(missing->error_type, "ValueError");
  EXPECT_FALSE(missing->remedies.empty());
  ASSERT_EQ(missing->knobs.size(), 2u);
  EXPECT_EQ(missing->knobs[0].source.origin, Origin::kDefault);
  EXPECT_EQ(missing->knobs[1].source.origin, Origin::kFlag);
}

TEST(Check, TheHarnessOwnFlagsContradictEachOther) {
  const CheckReport report = checked({"-rl", "4", "--recompute_modules", "mlp"});
  EXPECT_NE(finding(report, "recompute.num-layers-with-selective"), nullptr);
  EXPECT_FALSE(report.accepted);
}

TEST(Check, AnAcceptedConfigurationIsResolved) {
  const CheckReport report = checked({"num_layers=8", "pp=2", "recompute_granularity=full",
                                      "recompute_method=uniform", "recompute_num_layers=1"});
  EXPECT_TRUE(report.accepted);
  ASSERT_TRUE(report.resolved);
  EXPECT_EQ(report.resolved->chunks.size(), 2u);
}

TEST(Check, WithoutAModelNothingIsResolvedAndNothingIsWrong) {
  const CheckReport report = checked({"recompute_granularity=null"});
  EXPECT_TRUE(report.accepted);
  EXPECT_FALSE(report.resolved);
  EXPECT_TRUE(report.findings.empty());
}

TEST(Check, WordsThatCannotBeReadReject) {
  const CheckReport report = checked({"recompute_modules=[mlp"});
  EXPECT_FALSE(report.accepted);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].severity, "error");
}

TEST(Check, AReadingErrorNamesAnExceptionOnlyWhereOneIsKnown) {
  const auto raised = [](const std::vector<std::string>& words, std::string_view id,
                         Dialect dialect) {
    const CheckReport report = checked(words, dialect);
    const CheckFinding* found = finding(report, id);
    return found == nullptr ? "no finding" : found->error_type;
  };
  const Dialect release = Dialect::kMcore_0_19_2, bridge = Dialect::kBridge;
  EXPECT_EQ(raised({"no_such=1"}, "knob.unknown", release), "TypeError");
  EXPECT_EQ(raised({"no_such=1"}, "knob.unknown", bridge), "OverridesError");
  EXPECT_EQ(raised({"--no-such", "1"}, "knob.unknown", release), "");
  EXPECT_EQ(raised({"recompute_modules=7"}, "knob.wrong-type", release), "");
  EXPECT_EQ(raised({"recompute_modules=[mlp"}, "override.malformed-value", bridge),
            "OverridesError");
  EXPECT_EQ(raised({"optimizer.lr=1"}, "knob.elsewhere", bridge), "");
}

TEST(Check, NullEmptyAndAbsentLabelsAreThreeThings) {
  const auto effective = [](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"recompute_granularity=selective"};
    all.insert(all.end(), words.begin(), words.end());
    return checked(all);
  };
  EXPECT_NE(finding(effective({}), "recompute.default-labels"), nullptr);
  EXPECT_NE(finding(effective({"recompute_modules=null"}), "recompute.default-labels"), nullptr);
  const CheckReport empty = effective({"recompute_modules=[]"});
  EXPECT_TRUE(empty.accepted);
  EXPECT_EQ(finding(empty, "recompute.default-labels"), nullptr);
  EXPECT_NE(finding(empty, "recompute.empty-labels"), nullptr);
}

}  // namespace
}  // namespace refrain::config
