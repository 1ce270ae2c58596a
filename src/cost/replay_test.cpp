#include "cost/price/replay.h"

#include <gtest/gtest.h>

#include "cost/ops/layer_ops.h"
#include "cost/published_runs.h"

namespace refrain::cost {
namespace {

constexpr mcore::LayerKind kDenseLayer = {};
constexpr mcore::LayerKind kLatentExperts = {.mixer = mcore::Mixer::kLatentAttention,
                                             .feed_forward = mcore::FeedForward::kExperts};
constexpr mcore::LayerKind kLinearExperts = {.mixer = mcore::Mixer::kLinearAttention,
                                             .feed_forward = mcore::FeedForward::kExperts};

ReplayTime replay(const mcore::Run& run, const mcore::LayerKind& kind, const Selection& selection,
                  ReplayPolicy policy = ReplayPolicy::kRegion) {
  return replay_of(run, device("h100"), kind, selection, policy);
}

ReplayTime labels(const mcore::Run& run, const mcore::LayerKind& kind, LabelSet set,
                  ReplayPolicy policy = ReplayPolicy::kRegion) {
  return replay(run, kind, {.labels = set}, policy);
}

double forward_s(const mcore::Run& run, const mcore::LayerKind& kind) {
  double seconds = 0;
  for (const PricedOp& op : priced_ops(run, device("h100"), kind)) seconds += op.seconds.forward;
  return seconds;
}

TEST(Replay, NothingSelectedCostsNothing) {
  const ReplayTime time = replay(llama3_70b(), kDenseLayer, {});
  EXPECT_EQ(time.gpu_s, 0);
  EXPECT_EQ(time.host_units, 0);
}

TEST(Replay, FullIsTheWholeForward) {
  const mcore::Run run = llama3_70b();
  EXPECT_DOUBLE_EQ(replay(run, kDenseLayer, {.full = true}).gpu_s, forward_s(run, kDenseLayer));
}

TEST(Replay, LayersOfOneRegionShareItsHostWork) {
  const mcore::Run run = llama3_70b();
  const double one = replay(run, kDenseLayer, {.full = true}).host_units;
  const double three = replay(run, kDenseLayer, {.full = true, .layers_together = 3}).host_units;
  EXPECT_NEAR(one - three, 15 * (1 - 1.0 / 3), 1e-9);
}

TEST(Replay, NestedRegionsRunTwiceButOnDemandOnce) {
  const mcore::Run run = moonlight();
  const LabelSet both = {Label::kMoe, Label::kMoeAct};
  const double nested = labels(run, kLatentExperts, both).gpu_s;
  EXPECT_DOUBLE_EQ(nested, labels(run, kLatentExperts, {Label::kMoe}).gpu_s +
                               labels(run, kLatentExperts, {Label::kMoeAct}).gpu_s);
  EXPECT_DOUBLE_EQ(labels(run, kLatentExperts, both, ReplayPolicy::kDemand).gpu_s,
                   labels(run, kLatentExperts, {Label::kMoe}, ReplayPolicy::kDemand).gpu_s);
}

TEST(Replay, OnDemandTheLastProductOfMlpIsNotRepeated) {
  const mcore::Run run = llama3_70b();
  const double region = labels(run, kDenseLayer, {Label::kMlp}).gpu_s;
  const double demand = labels(run, kDenseLayer, {Label::kMlp}, ReplayPolicy::kDemand).gpu_s;
  double last = 0;
  for (const PricedOp& op : priced_ops(run, device("h100"), kDenseLayer)) {
    if (op.op.name == "fc2" || (op.op.name == "scatter" && op.op.scope == scope::kMlp)) {
      last += op.seconds.forward;
    }
  }
  EXPECT_NEAR(region - demand, last, 1e-12);
  EXPECT_NEAR(last / region, 0.35, 0.01);
}

TEST(Replay, OnDemandFullSparesTheLastResidualToo) {
  const mcore::Run run = llama3_70b();
  double spared = 0;
  const auto ops = priced_ops(run, device("h100"), kDenseLayer);
  for (auto op = ops.end() - 3; op != ops.end(); ++op) spared += op->seconds.forward;
  EXPECT_EQ((ops.end() - 3)->op.name, "fc2");
  EXPECT_EQ((ops.end() - 1)->op.name, "residual");
  EXPECT_NEAR(forward_s(run, kDenseLayer) -
                  replay(run, kDenseLayer, {.full = true}, ReplayPolicy::kDemand).gpu_s,
              spared, 1e-12);
}

TEST(Replay, OnDemandALatentIsNeededBehindTheExperts) {
  mcore::Run run = moonlight();
  const auto spared = [&] {
    return labels(run, kLatentExperts, {Label::kMoe}).gpu_s -
           labels(run, kLatentExperts, {Label::kMoe}, ReplayPolicy::kDemand).gpu_s;
  };
  const double without = spared();
  run.model.experts.latent_dim = run.model.hidden;  // as wide: the experts cost the same
  EXPECT_LT(spared(), without);
  EXPECT_GT(spared(), 0);
}

TEST(Replay, MoreLabelsNeverTakeLess) {
  const std::vector<std::pair<mcore::Run, mcore::LayerKind>> layers = {
      {llama3_70b(), kDenseLayer},
      {moonlight(), kLatentExperts},
      {deepseek_v3(), kLatentExperts},
      {qwen3_next(), kLinearExperts}};
  for (const auto& [run, kind] : layers) {
    for (const ReplayPolicy policy : {ReplayPolicy::kRegion, ReplayPolicy::kDemand}) {
      for (unsigned mask = 0; mask < 256; ++mask) {
        LabelSet set;
        for (const LabelRow& row : label_rows()) {
          if (mask >> static_cast<unsigned>(row.label) & 1) set.insert(row.label);
        }
        const ReplayTime fewer = labels(run, kind, set, policy);
        for (const LabelRow& row : label_rows()) {
          LabelSet more = set;
          more.insert(row.label);
          const ReplayTime time = labels(run, kind, more, policy);
          ASSERT_GE(time.gpu_s, fewer.gpu_s) << mask << " and " << row.name;
          ASSERT_GE(time.host_units, fewer.host_units) << mask << " and " << row.name;
        }
        const ReplayTime region = labels(run, kind, set, ReplayPolicy::kRegion);
        ASSERT_LE(fewer.gpu_s, region.gpu_s) << mask;
      }
    }
  }
}

TEST(Replay, PlainRegionsOfACapturedScopeAreSkippedAndOthersAreNot) {
  mcore::Run run = moonlight();
  run.place.graphs = {"attn"};
  EXPECT_EQ(labels(run, kLatentExperts, {Label::kCoreAttn}).gpu_s, 0);
  EXPECT_GT(labels(run, kLatentExperts, {Label::kMlaUpProj}).gpu_s, 0);
  EXPECT_GT(labels(run, kLatentExperts, {Label::kMoe}).gpu_s, 0);
  run.place.graphs = {"full_iteration"};
  EXPECT_GT(labels(run, kLatentExperts, {Label::kCoreAttn}).gpu_s, 0);
}

TEST(Replay, LabelsWithoutOpsInTheLayerAreFree) {
  EXPECT_EQ(labels(llama3_70b(), kDenseLayer, {Label::kLayernorm, Label::kMoe}).gpu_s, 0);
  EXPECT_EQ(labels(moonlight(), kLatentExperts, {Label::kMlp, Label::kGdnNormOut}).gpu_s, 0);
}

TEST(Replay, ADiscardedOutputIsCastAgainBelow16Bits) {
  mcore::Run run = moonlight();
  const double plain = labels(run, kLatentExperts, {Label::kLayernorm}).gpu_s;
  run.numerics.gemms = mcore::LowPrecision::kFp8Current;
  const double elements = 2 * 2048.0 * 2048;  // two norms, 4096 tokens over 2 ranks
  EXPECT_NEAR(labels(run, kLatentExperts, {Label::kLayernorm}).gpu_s - plain,
              Pricer(run, device("h100")).cast_seconds(elements), 1e-12);
}

TEST(Replay, NamesOfARunBecomeASelection) {
  mcore::Recompute recompute = {.method = mcore::Recompute::Method::kSelective,
                                .labels = {"moe_act", "mhc"}};
  EXPECT_EQ(selection_of(recompute).labels, LabelSet{Label::kMoeAct});
  EXPECT_FALSE(selection_of(recompute).full);
  recompute.method = mcore::Recompute::Method::kBlock;
  EXPECT_TRUE(selection_of(recompute).full);
  recompute.method = mcore::Recompute::Method::kNone;
  EXPECT_TRUE(selection_of(recompute).labels.empty());
}

}  // namespace
}  // namespace refrain::cost
