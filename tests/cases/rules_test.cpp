// A breaking and an obeying configuration a rule, as near to each other as the rule allows, in
// rules.jsonl: one object a line, {"rule", "dialect", "breaks", "obeys"}, in the table's order.
// "breaks" is chosen so that Megatron-Core would raise the rule's own exception, or none for a rule
// that lets the run go on; "obeys" so that nothing is rejected.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/check/judge.h"
#include "config/knobs/configuration.h"
#include "config/rules/table/rule_table.h"

namespace refrain::config {
namespace {

using nlohmann::json;

struct Case {
  std::string rule;
  std::string dialect;
  json breaks, obeys;  // knobs by name
};

std::vector<Case> read_cases() {
  std::vector<Case> cases;
  std::ifstream lines(REFRAIN_SOURCE_DIR "/tests/cases/rules.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const json one = json::parse(line);
    cases.push_back({one["rule"], one["dialect"], one["breaks"], one["obeys"]});
  }
  return cases;
}

/// Where the rule stands in the table; its size where nobody knows the rule.
size_t position(const std::string& id) {
  static const std::vector<const Rule*> rules = all_rules();
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const Rule* rule) { return rule->id == id; });
  return static_cast<size_t>(found - rules.begin());
}

const Rule& rule_of(const Case& one) { return *all_rules().at(position(one.rule)); }

Dialect dialect_of(const Case& one) { return parse_dialect(one.dialect).value.value(); }

Checked<Configuration> configured(const json& knobs, Dialect dialect) {
  Assignments assignments;
  for (const auto& [knob, value] : knobs.items()) assignments.push_back({knob, value, {}, false});
  return configure(assignments, dialect);
}

Judgement judged(const json& knobs, Dialect dialect) {
  const Checked<Configuration> made = configured(knobs, dialect);
  EXPECT_TRUE(made.value) << to_text(made.findings);
  return made.value ? judge(made.value->knobs, dialect) : Judgement{};
}

bool speaks(const Rule& rule, const Judgement& judgement) {
  return std::any_of(judgement.rulings.begin(), judgement.rulings.end(),
                     [&](const Ruling& ruling) { return ruling.rule->id == rule.id; });
}

/// "rule.a rule.b": who had something to say.
std::string told(const Judgement& judgement) {
  std::string ids;
  for (const Ruling& ruling : judgement.rulings) ids += std::string(ruling.rule->id) + " ";
  return ids;
}

TEST(RuleCases, EveryRuleHasOneInTheOrderOfTheTable) {
  std::vector<bool> has_case(all_rules().size());
  size_t last = 0;
  for (const Case& one : read_cases()) {
    const size_t at = position(one.rule);
    ASSERT_LT(at, has_case.size()) << "nobody knows the rule " << one.rule;
    EXPECT_GE(at, last) << one.rule << " stands too late";
    has_case[at] = true;
    last = at;
  }
  for (size_t at = 0; at < has_case.size(); ++at) {
    EXPECT_TRUE(has_case[at]) << all_rules()[at]->id << " has no case";
  }
}

TEST(RuleCases, ABrokenRuleSpeaksAndAnErrorIsRaised) {
  for (const Case& one : read_cases()) {
    SCOPED_TRACE(one.rule + " in " + one.dialect);
    const Rule& rule = rule_of(one);
    const Judgement judgement = judged(one.breaks, dialect_of(one));
    EXPECT_TRUE(speaks(rule, judgement)) << "told: " << told(judgement);
    EXPECT_EQ(judgement.accepted, !is_error(rule.outcome)) << "told: " << told(judgement);
    const auto raised = is_error(rule.outcome) ? std::optional(rule.outcome) : std::nullopt;
    EXPECT_EQ(judgement.raised, raised) << "told: " << told(judgement);
  }
}

TEST(RuleCases, AnObeyedRuleIsSilentAndNothingIsRejected) {
  for (const Case& one : read_cases()) {
    SCOPED_TRACE(one.rule + " in " + one.dialect);
    const Judgement judgement = judged(one.obeys, dialect_of(one));
    EXPECT_FALSE(speaks(rule_of(one), judgement));
    EXPECT_TRUE(judgement.accepted) << "told: " << told(judgement);
  }
}

TEST(RuleCases, ARuleIsSilentInDialectsThatDoNotHaveIt) {
  int tried = 0;
  for (const Case& one : read_cases()) {
    const Rule& rule = rule_of(one);
    for (const Dialect dialect : all_dialects()) {
      const Checked<Configuration> made = configured(one.breaks, dialect);
      if (rule.dialects.has(dialect) || !made.value) continue;
      SCOPED_TRACE(one.rule + " in " + std::string(to_text(dialect)));
      EXPECT_FALSE(speaks(rule, judge(made.value->knobs, dialect)));
      ++tried;
    }
  }
  EXPECT_GT(tried, 0);
}

}  // namespace
}  // namespace refrain::config
