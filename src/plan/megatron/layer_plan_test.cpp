#include "plan/megatron/layer_plan.h"

#include <gtest/gtest.h>

#include "plan/megatron/llama3_70b.h"

namespace refrain::plan {
namespace {

using Method = mcore::Recompute::Method;

TEST(LayerPlan, FitsAndTakesLessThanAnySettingThatFits) {
  double before = 1e300;
  for (const double budget : {64.0, 66.0, 72.0, 78.0}) {
    SCOPED_TRACE(budget);
    const mcore::Run run = llama3_70b();
    const PredictedSetting chosen = cheapest_that_fits(run, h100(), gib(budget));
    ASSERT_EQ(chosen.prediction.verdict(), Verdict::kFits);
    const auto plan = plan_layers(run, h100(), gib(budget), chosen);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->prediction.verdict(), Verdict::kFits);
    const double step_s = plan->prediction.time.step_s;
    EXPECT_LE(step_s, plan->setting_step_s);
    EXPECT_LE(plan->lower_bound_s, step_s * (1 + 1e-9));
    EXPECT_LE(plan->gap(), 0.03);
    EXPECT_LE(step_s, before * (1 + 1e-9));  // more bytes, no more seconds
    before = step_s;
    // What the plan says of itself is what the run is predicted to do.
    const MegatronPrediction again = predict(planned(run, *plan), h100(), gib(budget));
    EXPECT_EQ(again.time.step_s, step_s);
    for (size_t rank = 0; rank < again.ranks.size(); ++rank) {
      EXPECT_EQ(again.ranks[rank].upper, plan->prediction.ranks[rank].upper);
      EXPECT_EQ(again.ranks[rank].reserved, plan->prediction.ranks[rank].reserved);
    }
  }
}

TEST(LayerPlan, RecomputesNothingWhereEverythingFits) {
  const mcore::Run run = llama3_70b();
  const auto plan = plan_layers(run, h100(), gib(200), cheapest_that_fits(run, h100(), gib(200)));
  ASSERT_TRUE(plan);
  for (const mcore::Recompute& layer : plan->layers) EXPECT_EQ(layer, mcore::Recompute{});
  EXPECT_NEAR(plan->gap(), 0, 1e-9);
}

TEST(LayerPlan, IsNotThereWhereStaticStateAloneIsTooMuch) {
  const mcore::Run run = llama3_70b();
  const PredictedSetting leanest = cheapest_that_fits(run, h100(), gib(30));
  EXPECT_FALSE(plan_layers(run, h100(), gib(30), leanest));
}

TEST(LayerRecompute, OfASettingSaysWhatItDoesToEachLayer) {
  const mcore::Run run = llama3_70b();  // chunks of four layers
  const auto block = mcore::layer_recompute_of(run, {.method = Method::kBlock, .num_layers = 3});
  for (size_t i = 0; i < block.size(); ++i) {
    EXPECT_EQ(block[i].method, i % 4 < 3 ? Method::kUniform : Method::kNone) << i;
  }
  const mcore::Recompute mlp = {.method = Method::kSelective, .labels = {"mlp"}};
  EXPECT_EQ(mcore::layer_recompute_of(run, mlp), std::vector<mcore::Recompute>(80, mlp));
}

}  // namespace
}  // namespace refrain::plan
