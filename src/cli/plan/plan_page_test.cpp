#include "cli/plan/plan_page.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/page/assets.h"

namespace refrain::cli {
namespace {

plan::Workload tiny() {
  config::RunShape shape{.micro_batch = 2, .seq = 64};
  return {*config::find_model("llama-tiny").value, shape, cost::default_rates()};
}

class PlanPageOf : public testing::Test {
 protected:
  const plan::Workload workload = tiny();
  const plan::Planner planner{workload};
  const std::vector<plan::StandardStep> standards = plan::standard_steps(workload);
  const Bytes budget{planner.least_peak() + Bytes(300000)};
  const plan::EnginePlan plan = *planner.plan(budget).value;
  const PlanView view{workload, plan, budget, planner.least_peak(), standards};
  const report::PlanPage page = plan_page_of(view, planner);
};

TEST_F(PlanPageOf, ItsNumbersAreThePlans) {
  EXPECT_EQ(page.model, "llama-tiny");
  EXPECT_EQ(page.plan.budget, budget);
  EXPECT_EQ(page.plan.cost.peak, plan.step.timeline.peak);
  EXPECT_EQ(page.plan.cost.replay_s, plan.timing.replay_s);
  EXPECT_EQ(page.without.peak, standards[0].peak);
  EXPECT_EQ(page.settings.size(), standards.size());
  EXPECT_EQ(page.layers.size(), plan.decisions.size());
}

TEST_F(PlanPageOf, TheCurveGoesFromTheLeanestPlanToNoRecompute) {
  ASSERT_GT(page.curve.size(), 5u);
  EXPECT_EQ(page.curve.front().cost.peak, planner.least_peak());
  EXPECT_EQ(page.curve.back().cost.replay_s, 0);
  for (size_t i = 1; i < page.curve.size(); ++i) {
    EXPECT_GT(page.curve[i].cost.peak, page.curve[i - 1].cost.peak);
    EXPECT_LT(page.curve[i].cost.replay_s, page.curve[i - 1].cost.replay_s);
  }
}

TEST_F(PlanPageOf, TheNearestSettingFitsAndIsTheOneThatTheTextNames) {
  const report::SettingCost* nearest = report::nearest_setting(page);
  const plan::StandardStep* named = plan::fastest_inside(standards, budget, true);
  ASSERT_TRUE(nearest && named);
  EXPECT_EQ(nearest->name, to_text(named->setting));
  EXPECT_LE(nearest->cost.peak, budget);
}

TEST_F(PlanPageOf, TheTimelineIsTheLedgers) {
  const report::MemoryTimeline& timeline = page.timeline;
  ASSERT_EQ(timeline.steps.size(), plan.step.program.steps.size());
  for (size_t s = 0; s < timeline.steps.size(); ++s) {
    const ledger::Balances& during = plan.step.timeline.entries[s].during;
    EXPECT_TRUE(std::equal(during.begin(), during.end(), timeline.steps[s].held.begin()));
  }
  EXPECT_EQ(timeline.peak_step, plan.step.timeline.peak_step);
  EXPECT_EQ(timeline.resident, ledger::total(plan.step.timeline.residents));
}

// An account without one would be drawn black.
TEST_F(PlanPageOf, EveryAccountHasItsColourInLightAndDark) {
  const std::string style(report::kPageStyle);
  for (const std::string& account : page.timeline.accounts) {
    const std::string colour = "\n  --" + account + ": #", dark = "\n    --" + account + ": #";
    EXPECT_NE(style.find(colour), std::string::npos) << account;
    EXPECT_NE(style.find(dark), std::string::npos) << account;
    EXPECT_NE(style.find("." + account), std::string::npos) << account;
  }
}

}  // namespace
}  // namespace refrain::cli
