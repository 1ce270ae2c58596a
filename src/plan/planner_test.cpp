#include "plan/planner.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/presets.h"
#include "plan/small_models.h"

namespace refrain::plan {
namespace {

using config::AttentionBackend;
using config::FullMethod;
using config::Granularity;
using config::Label;
using config::RecomputeSetting;
using config::ReplayPolicy;
using config::RunShape;

/// Every label subset, uniform and block for every K.
std::vector<RecomputeSetting> standard_settings(int64_t layers) {
  constexpr Label kLabels[] = {Label::kCoreAttn, Label::kLayernorm, Label::kMlp, Label::kPointwise};
  std::vector<RecomputeSetting> settings;
  for (unsigned subset = 0; subset < 16; ++subset) {
    RecomputeSetting setting;
    for (unsigned i = 0; i < 4; ++i) {
      if (subset >> i & 1) setting.labels.push_back(kLabels[i]);
    }
    if (subset > 0) setting.granularity = Granularity::kSelective;
    settings.push_back(setting);
  }
  for (int64_t k = 1; k <= layers; ++k) {
    for (const FullMethod method : {FullMethod::kUniform, FullMethod::kBlock}) {
      settings.push_back({.granularity = Granularity::kFull, .method = method, .num_layers = k});
    }
  }
  return settings;
}

struct Draws {
  std::mt19937 engine{23};
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  bool coin() { return number(0, 1) == 1; }

  Workload workload() {
    Workload workload{.model = coin() ? small_llama(number(1, 9)) : small_gpt(number(1, 9)),
                      .rates = cost::default_rates()};
    workload.model.qk_norm = number(0, 4) == 0;
    if (coin()) workload.model.tied_embeddings = !workload.model.tied_embeddings;
    workload.shape = {.micro_batch = number(1, 3),
                      .seq = number(8, 40),
                      .num_micro_batches = number(1, 4),
                      .attention = coin() ? AttentionBackend::kFused : AttentionBackend::kUnfused,
                      .dropout = coin() ? 0.1 : 0.0,
                      .clip_grad = coin() ? 1.0 : 0.0,
                      .threads = number(1, 2)};
    if (number(0, 3) == 0) workload.shape.precision = config::Precision::kBf16;
    return workload;
  }
};

TEST(Planner, PlansKeepToTheBudgetAndNoStandardSettingThatFitsIsFaster) {
  Draws draws;
  for (int i = 0; i < 40; ++i) {
    const Workload workload = draws.workload();
    const Planner planner(workload);
    const int64_t none =
        prepare(workload.model, workload.shape, {}, ReplayPolicy::kDemand).timeline.peak.count();
    const int64_t least = planner.least_peak().count();
    const Bytes budget(least + draws.number(0, std::max<int64_t>(0, none - least)));
    const auto plan = planner.plan(budget);
    ASSERT_TRUE(plan.value) << i;
    EXPECT_LE(plan.value->step.timeline.peak, budget);
    EXPECT_EQ(plan.value->gap, 0);
    EXPECT_EQ(plan.value->step.timeline.peak.count(), planner.predicted_peak(budget)) << i;
    for (const RecomputeSetting& setting : standard_settings(workload.model.num_layers)) {
      const PreparedStep step =
          prepare(workload.model, workload.shape, setting, ReplayPolicy::kDemand);
      if (step.timeline.peak > budget) continue;
      const cost::Timing timing = cost::price(step.graph, step.program, workload.rates);
      EXPECT_LE(plan.value->timing.replay_s, timing.replay_s * (1 + 1e-9)) << to_text(setting);
    }
  }
}

TEST(Planner, LeastPeakIsNoHigherThanThatOfAnyStandardSetting) {
  Draws draws;
  for (int i = 0; i < 20; ++i) {
    const Workload workload = draws.workload();
    const Planner planner(workload);
    for (const RecomputeSetting& setting : standard_settings(workload.model.num_layers)) {
      const PreparedStep step =
          prepare(workload.model, workload.shape, setting, ReplayPolicy::kDemand);
      EXPECT_LE(planner.least_peak(), step.timeline.peak) << to_text(setting);
    }
    const auto plan = planner.plan(planner.least_peak());
    ASSERT_TRUE(plan.value);
    EXPECT_EQ(plan.value->step.timeline.peak, planner.least_peak());
  }
}

TEST(Planner, OneByteBelowTheLeastPeakIsAFindingThatNamesIt) {
  const Planner planner({small_llama(4), {.micro_batch = 2, .seq = 16}, cost::default_rates()});
  const auto plan = planner.plan(planner.least_peak() - Bytes(1));
  ASSERT_FALSE(plan.value);
  EXPECT_EQ(plan.findings.at(0).rule, "plan.budget-too-small");
  EXPECT_NE(plan.findings[0].message.find(std::to_string(planner.least_peak().count())),
            std::string::npos);
}

TEST(Planner, WithRoomForEverythingNothingIsRecomputed) {
  const RunShape shape = {.micro_batch = 2, .seq = 16};
  const Planner planner({small_llama(4), shape, cost::default_rates()});
  const Bytes none = prepare(small_llama(4), shape, {}, ReplayPolicy::kDemand).timeline.peak;
  const auto roomy = planner.plan(none);
  ASSERT_TRUE(roomy.value);
  EXPECT_EQ(roomy.value->timing.replay_s, 0);
  EXPECT_EQ(planner.byte_price_s(none, *roomy.value), 0);
  const auto tight = planner.plan(none - Bytes(1));
  ASSERT_TRUE(tight.value);
  EXPECT_GT(tight.value->timing.replay_s, 0);
}

TEST(Planner, ThePriceOfAByteIsOfAStepWithAllItsMicroBatches) {
  const RunShape shape = {.micro_batch = 2, .seq = 16, .num_micro_batches = 2};
  const Planner planner({small_llama(4), shape, cost::default_rates()});
  const Bytes none = prepare(small_llama(4), shape, {}, ReplayPolicy::kDemand).timeline.peak;
  const Bytes budget((planner.least_peak().count() + none.count()) / 2);
  const int64_t more = budget.count() / 100;
  const auto plan = planner.plan(budget), cheaper = planner.plan(budget + Bytes(more));
  ASSERT_TRUE(plan.value && cheaper.value);
  const double saved_s = plan.value->timing.replay_s - cheaper.value->timing.replay_s;
  ASSERT_GT(saved_s, 0);
  EXPECT_NEAR(planner.byte_price_s(budget, *plan.value) * static_cast<double>(more), saved_s,
              1e-9 * saved_s);
}

TEST(Planner, MoreBudgetNeverCostsTimeAndLessNeverRaisesThePeak) {
  Draws draws;
  for (int i = 0; i < 10; ++i) {
    const Workload workload = draws.workload();
    const Planner planner(workload);
    const int64_t none =
        prepare(workload.model, workload.shape, {}, ReplayPolicy::kDemand).timeline.peak.count();
    const int64_t least = planner.least_peak().count();
    double last_s = std::numeric_limits<double>::infinity();
    for (int step = 0; step < 200; ++step) {
      const Bytes budget(least + (none - least) * step / 199);
      const auto plan = planner.plan(budget);
      ASSERT_TRUE(plan.value);
      EXPECT_LE(plan.value->timing.replay_s, last_s * (1 + 1e-9));
      EXPECT_LE(plan.value->step.timeline.peak, budget);
      last_s = plan.value->timing.replay_s;
    }
  }
}

TEST(Planner, DecisionsCoverEveryLayerOnceWithAReasonForEachActivation) {
  const RunShape shape = {.micro_batch = 2, .seq = 16};
  const Planner planner({small_llama(8), shape, cost::default_rates()});
  const Bytes none = prepare(small_llama(8), shape, {}, ReplayPolicy::kDemand).timeline.peak;
  const Bytes middle((none.count() + planner.least_peak().count()) / 2);
  const auto plan = planner.plan(middle);
  ASSERT_TRUE(plan.value);
  int64_t next = 0;
  for (const LayerDecision& decision : plan.value->decisions) {
    EXPECT_EQ(decision.first, next);
    next = decision.last + 1;
    EXPECT_EQ(decision.reasons.size(), 7u);  // norm, qkv, core, middle, norm, gate and up, gated
  }
  EXPECT_EQ(next, 8);
}

TEST(Planner, LeversAreEvaluatedAndLeanestFirst) {
  const RunShape shape = {.micro_batch = 16, .seq = 64, .clip_grad = 1};
  const Planner planner({small_llama(4), shape, cost::default_rates()});
  const std::vector<Lever> levers = planner.levers();
  ASSERT_EQ(levers.size(), 4u);
  for (size_t i = 1; i < levers.size(); ++i) {
    EXPECT_LE(levers[i - 1].least_peak, levers[i].least_peak);
  }
  const auto halved = std::find_if(levers.begin(), levers.end(), [](const Lever& lever) {
    return lever.change == "--micro-batch 8 --global-batch 16";
  });
  ASSERT_NE(halved, levers.end());
  EXPECT_LT(halved->least_peak, planner.least_peak());
}

}  // namespace
}  // namespace refrain::plan
