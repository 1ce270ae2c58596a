#include "config/rules/table/rule_table.h"

#include <gtest/gtest.h>

#include <set>

#include "config/knobs/knob_table.h"
#include "config/labels/label_table.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

TEST(RuleTable, IdsAreUniqueAndReadable) {
  std::set<std::string_view> ids;
  for (const Rule* rule : all_rules()) {
    EXPECT_TRUE(ids.insert(rule->id).second) << rule->id;
    EXPECT_EQ(rule->id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-."),
              std::string_view::npos)
        << rule->id;
    EXPECT_NE(rule->id.find('.'), std::string_view::npos) << rule->id;
  }
}

TEST(RuleTable, EveryRuleSaysWhyAndErrorsSayWhatToDo) {
  for (const Rule* rule : all_rules()) {
    EXPECT_FALSE(rule->because.empty()) << rule->id;
    EXPECT_EQ(rule->remedy.empty(), rule->outcome == Outcome::kFill) << rule->id;
    EXPECT_NE(rule->broken, nullptr) << rule->id;
    EXPECT_NE(rule->dialects, DialectSet()) << rule->id;
  }
}

TEST(RuleTable, OnlyRewritesRewrite) {
  for (const Rule* rule : all_rules()) {
    const bool rewrites = rule->outcome == Outcome::kRewrite || rule->outcome == Outcome::kFill;
    EXPECT_EQ(rule->rewrite != nullptr, rewrites) << rule->id;
  }
}

TEST(RuleTable, EveryKnobThatARuleNamesIsThere) {
  for (const Rule* rule : all_rules()) {
    for (const std::string& name : split(rule->knobs, ' ')) {
      EXPECT_NE(find_knob(name), nullptr) << rule->id << ": " << name;
    }
  }
}

TEST(RuleTable, EveryLabelThatARuleNamesIsOne) {
  for (const Rule* rule : all_rules()) {
    if (rule->labels.empty()) continue;
    for (const std::string& label : split(rule->labels, ' ')) {
      EXPECT_TRUE(find_label(LabelList::kRecompute, label) != nullptr ||
                  find_label(LabelList::kOffload, label) != nullptr)
          << rule->id << ": " << label;
    }
    EXPECT_TRUE(is_among(rule->knobs, "recompute_modules") ||
                is_among(rule->knobs, "offload_modules") ||
                is_among(rule->knobs, "moe_layer_recompute"))
        << rule->id << " reads no list of labels";
  }
}

}  // namespace
}  // namespace refrain::config
