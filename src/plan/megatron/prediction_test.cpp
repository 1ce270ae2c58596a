#include "plan/megatron/prediction.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/megatron/choose_setting.h"
#include "plan/megatron/llama3_70b.h"

namespace refrain::plan {
namespace {

using Method = mcore::Recompute::Method;

MegatronPrediction predicted(mcore::Recompute recompute, Bytes budget = gib(80)) {
  mcore::Run run = llama3_70b();
  run.recompute = std::move(recompute);
  return predict(run, h100(), budget);
}

mcore::Recompute selective(std::set<std::string> labels) {
  return {.method = Method::kSelective, .labels = std::move(labels)};
}

TEST(Prediction, CoversEveryRankAndTheFirstHoldsMostInFlight) {
  const MegatronPrediction prediction = predicted({});
  ASSERT_EQ(prediction.ranks.size(), 4u);
  for (const RankBytes& rank : prediction.ranks) {
    EXPECT_LE(rank.allocated, rank.upper);
    EXPECT_LE(rank.allocated, rank.reserved);
    EXPECT_FALSE(rank.phase.empty());
  }
  EXPECT_EQ(prediction.fullest().rank, 0);
  EXPECT_GT(prediction.ranks[1].allocated, prediction.ranks[2].allocated);
}

// Published for this run: layernorm frees next to nothing at next to no cost, mlp costs about 16 %
// of throughput, and mlp with core_attn is slightly worse than mlp alone.
TEST(Prediction, ReproducesWhatThePublishedRunsFound) {
  const MegatronPrediction none = predicted({}), norm = predicted(selective({"layernorm"})),
                           mlp = predicted(selective({"mlp"})),
                           both = predicted(selective({"mlp", "core_attn"}));
  EXPECT_EQ(norm.fullest().allocated, none.fullest().allocated);
  EXPECT_NEAR(norm.time.step_s / none.time.step_s, 1, 0.001);
  EXPECT_LT(mlp.fullest().allocated, none.fullest().allocated);
  EXPECT_NEAR(none.time.step_s / mlp.time.step_s, 1 - 0.16, 0.02);
  EXPECT_GT(both.time.step_s, mlp.time.step_s);
  const double freed_by_both =
      static_cast<double>((mlp.fullest().allocated - both.fullest().allocated).count());
  EXPECT_LT(freed_by_both, 0.01 * static_cast<double>(none.fullest().allocated.count()));
}

TEST(Prediction, VerdictFollowsTheBudget) {
  const RankBytes fullest = predicted({}, gib(200)).fullest();
  EXPECT_EQ(predicted({}, gib(200)).verdict(), Verdict::kFits);
  EXPECT_EQ(predicted({}, fullest.allocated - Bytes(1)).verdict(), Verdict::kOutOfMemory);
  EXPECT_EQ(predicted({}, gib(1)).verdict(), Verdict::kOutOfMemory);
}

TEST(ChooseSetting, TakesTheFastestThatFits) {
  const Bytes budget = gib(72);
  const PredictedSetting chosen = cheapest_that_fits(llama3_70b(), h100(), budget);
  ASSERT_EQ(chosen.prediction.verdict(), Verdict::kFits);
  for (const PredictedSetting& other :
       predict_settings(llama3_70b(), h100(), budget, usual_settings(llama3_70b()))) {
    if (other.prediction.verdict() != Verdict::kFits) continue;
    EXPECT_LE(chosen.prediction.time.step_s, other.prediction.time.step_s)
        << to_text(other.recompute);
  }
}

TEST(ChooseSetting, WhereNothingFitsTheLeanestIsGivenAndLeversAreEvaluated) {
  const Bytes budget = gib(50);
  const PredictedSetting leanest = cheapest_that_fits(llama3_70b(), h100(), budget);
  EXPECT_NE(leanest.prediction.verdict(), Verdict::kFits);
  const std::vector<MegatronLever> levers = levers_of(llama3_70b(), h100(), budget);
  ASSERT_FALSE(levers.empty());
  EXPECT_EQ(levers.front().change, "--tp 8");
  EXPECT_EQ(levers.front().verdict, Verdict::kFits);
  EXPECT_EQ(levers.front().num_gpus, 64);
  for (const MegatronLever& lever : levers) {
    EXPECT_LT(lever.peak, leanest.prediction.fullest().allocated) << lever.change;
  }
}

}  // namespace
}  // namespace refrain::plan
