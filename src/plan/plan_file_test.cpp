#include "plan/plan_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/fields.h"
#include "plan/small_models.h"

namespace refrain::plan {
namespace {

using nlohmann::json;

class PlanFile : public testing::Test {
 protected:
  PlanFile() : workload_{small_llama(7), {.micro_batch = 2, .seq = 16}, cost::default_rates()} {
    const Planner planner(workload_);
    const Bytes none =
        prepare(workload_.model, workload_.shape, {}, config::ReplayPolicy::kDemand).timeline.peak;
    plan_ = *planner.plan(Bytes((planner.least_peak().count() + none.count()) / 2)).value;
    text_ = write_plan(workload_, plan_);
  }

  /// Rules of the findings after a change of the file.
  std::vector<std::string> rules_after(auto change) {
    json document = json::parse(text_);
    change(document);
    std::vector<std::string> rules;
    for (const Finding& finding :
         read_plan(document.dump(), workload_.model, workload_.shape).findings) {
      rules.push_back(finding.rule);
    }
    return rules;
  }

  Workload workload_;
  EnginePlan plan_;
  std::string text_;
};

using Rules = std::vector<std::string>;

TEST_F(PlanFile, ReadsBackWhatWasWritten) {
  const auto read = read_plan(text_, workload_.model, workload_.shape);
  ASSERT_TRUE(read.value) << to_text(read.findings);
  const PreparedStep step = prepare(workload_.model, workload_.shape, *read.value);
  EXPECT_EQ(step.timeline.peak, plan_.step.timeline.peak);
  EXPECT_EQ(cost::price(step.graph, step.program, workload_.rates).replay_s, plan_.timing.replay_s);
}

TEST_F(PlanFile, ByItselfNamesItsRunItsLayersAndItsPeak) {
  const auto saved = read_saved_plan(text_);
  ASSERT_TRUE(saved.value) << to_text(saved.findings);
  EXPECT_EQ(saved.value->model, workload_.model);
  EXPECT_EQ(config::fields_of(saved.value->shape), config::fields_of(workload_.shape));
  EXPECT_EQ(saved.value->rates, workload_.rates.name);
  EXPECT_EQ(saved.value->peak, plan_.step.timeline.peak);
  EXPECT_EQ(saved.value->recompute.actions, plan_.recompute.actions);
  ASSERT_EQ(saved.value->layers.size(), plan_.decisions.size());
  const Planner planner(workload_);
  for (size_t i = 0; i < plan_.decisions.size(); ++i) {
    const LayerDecision &read = saved.value->layers[i], &made = plan_.decisions[i];
    EXPECT_EQ(read.first, made.first);
    EXPECT_EQ(read.last, made.last);
    EXPECT_EQ(read.recomputed, made.recomputed);
    const std::vector<Reason> reasons = planner.reasons_of(read);
    ASSERT_EQ(reasons.size(), made.reasons.size());
    for (size_t r = 0; r < reasons.size(); ++r) {
      EXPECT_EQ(reasons[r].activation, made.reasons[r].activation);
      EXPECT_EQ(reasons[r].freed, made.reasons[r].freed);
      EXPECT_EQ(reasons[r].recomputed, made.reasons[r].recomputed);
    }
  }
}

TEST_F(PlanFile, ByItselfIsJudgedLikeOneForARun) {
  const auto rule_after = [&](auto change) {
    json document = json::parse(text_);
    change(document);
    const auto saved = read_saved_plan(document.dump());
    return saved.value || saved.findings.empty() ? "" : saved.findings[0].rule;
  };
  EXPECT_EQ(rule_after([](json& d) { d["refrain_plan"] = 2; }), "plan.other-format");
  EXPECT_EQ(rule_after([](json& d) { d.erase("model"); }), "plan.run");
  EXPECT_EQ(rule_after([](json& d) { d["shape"]["seq"] = "0"; }), "shape.size-out-of-range");
  EXPECT_EQ(rule_after([](json& d) { d["layers"] = 1; }), "plan.layers");
  EXPECT_EQ(read_saved_plan("[]").findings.at(0).rule, "plan.unreadable");
}

TEST_F(PlanFile, OfTheLeanestPlanReadsBackItsRuns) {
  const Planner planner(workload_);
  const EnginePlan leanest = *planner.plan(planner.least_peak()).value;
  const auto read = read_plan(write_plan(workload_, leanest), workload_.model, workload_.shape);
  ASSERT_TRUE(read.value);
  EXPECT_EQ(prepare(workload_.model, workload_.shape, *read.value).timeline.peak,
            planner.least_peak());
}

TEST_F(PlanFile, OfAnotherRunIsRefusedWithTheFieldsThatDiffer) {
  config::RunShape shape = workload_.shape;
  shape.seq = 17;
  config::ModelConfig wider = workload_.model;
  wider.ffn_hidden = 97;
  const Findings findings = read_plan(text_, wider, shape).findings;
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "plan.other-model");
  EXPECT_NE(findings[0].message.find("ffn_hidden: 96 in the plan, 97"), std::string::npos);
  EXPECT_EQ(findings[1].rule, "plan.other-shape");
  config::ModelConfig renamed = workload_.model;
  renamed.name = "another";
  EXPECT_TRUE(read_plan(text_, renamed, workload_.shape).value);
}

TEST_F(PlanFile, LayersMustBeNamedOnceAndInRange) {
  EXPECT_EQ(rules_after([](json& d) { d["layers"].erase(0); }), Rules{"plan.layers"});
  EXPECT_EQ(rules_after([](json& d) { d["layers"].push_back(d["layers"][0]); }),
            Rules{"plan.layers"});
  EXPECT_EQ(rules_after([](json& d) { d["layers"].back()["last"] = 7; }),
            (Rules{"plan.layers", "plan.layers"}));
  EXPECT_EQ(rules_after([](json& d) { d["layers"] = "all"; }), Rules{"plan.layers"});
  EXPECT_EQ(rules_after([](json& d) { d["layers"][0]["first"] = int64_t{1} << 62; }),
            (Rules{"plan.layers", "plan.layers"}));
  EXPECT_EQ(rules_after([](json& d) { d["layers"][0]["run"] = 0; }),
            (Rules{"plan.layers", "plan.layers"}));
}

TEST_F(PlanFile, AnUnknownActivationNamesTheNearestOnce) {
  const auto rules = rules_after([](json& d) {
    d["layers"] = {{{"first", 0}, {"last", 6}, {"run", 1}, {"recompute", {"mlp.activatoin"}}}};
  });
  EXPECT_EQ(rules, (Rules{"plan.unknown-activation"}));
}

TEST_F(PlanFile, ALayerNamedAgainIsSaidOnceAGroup) {
  const json all = {{"first", 0}, {"last", 6}, {"run", 7}};
  EXPECT_EQ(rules_after([&](json& d) { d["layers"] = {all}; }), Rules());
  EXPECT_EQ(rules_after([&](json& d) { (d["layers"] = {all})[0]["run"] = 2; }),
            (Rules{"plan.layers", "plan.layers"}));
  EXPECT_EQ(rules_after([&](json& d) {
              d["layers"] = {all, all, all};
            }),
            (Rules{"plan.layers", "plan.layers"}));
}

TEST_F(PlanFile, OfWrongGroupsAHundredAreSaid) {
  const auto rules = [&](size_t num_groups) {
    return rules_after([&](json& d) { d["layers"] = json(num_groups, nullptr); });
  };
  EXPECT_EQ(rules(98).size(), 99u);  // and that the first layer is not named
  EXPECT_EQ(rules(99).size(), 100u);
  EXPECT_EQ(rules(5000).size(), 100u);
  const json names(5000, 3);
  EXPECT_EQ(rules_after([&](json& d) {
              d["layers"] = {{{"first", 0}, {"last", 6}, {"run", 1}, {"recompute", names}}};
            }).size(),
            100u);
}

TEST_F(PlanFile, WhatItHoldsInsteadIsSaidInFewWords) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  const auto with = [&](const char* member, const std::string& value) {
    std::string text = json::parse(text_).dump();
    const std::string key = '"' + std::string(member) + "\":";
    const size_t begin = text.find(key) + key.size();
    return text.replace(begin, text.find_first_of(",}", begin) - begin, value);
  };
  for (const std::string& text :
       {with("refrain_plan", deep), with("hidden", deep), with("first", deep),
        with("hidden", R"("\u001b[31m")"), with("hidden", '"' + std::string(100000, '9') + '"'),
        with("hidden", R"(32, "\u0007": 1)"),
        with("first", "0, \"first\": \"" + std::string(100000, '0') + '"')}) {
    const auto read = read_plan(text, workload_.model, workload_.shape);
    ASSERT_FALSE(read.value);
    for (const Finding& finding : read.findings) {
      EXPECT_NE(finding.rule, "plan.unreadable");
      EXPECT_LT(finding.message.size(), 600u);
      EXPECT_TRUE(std::ranges::all_of(finding.message, [](char c) { return c >= ' '; }));
    }
  }
}

TEST_F(PlanFile, WhatIsNoPlanIsRefused) {
  const auto rule = [&](std::string_view text) {
    return read_plan(text, workload_.model, workload_.shape).findings.at(0).rule;
  };
  EXPECT_EQ(rule(""), "plan.unreadable");
  EXPECT_EQ(rule("[1]"), "plan.unreadable");
  EXPECT_EQ(rule("{}"), "plan.other-format");
  EXPECT_EQ(rule(R"({"refrain_plan": 2})"), "plan.other-format");
  EXPECT_EQ(rule(R"({"refrain_plan": 1})"), "plan.other-model");
  EXPECT_EQ(
      read_plan_file("/nowhere/plan.json", workload_.model, workload_.shape).findings.at(0).rule,
      "plan.no-file");
}

}  // namespace
}  // namespace refrain::plan
