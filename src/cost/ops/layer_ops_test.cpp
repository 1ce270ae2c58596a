#include "cost/ops/layer_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

namespace refrain::cost {
namespace {

using mcore::FeedForward;
using mcore::LayerKind;
using mcore::Mixer;

constexpr LayerKind kKinds[] = {
    {Mixer::kAttention, FeedForward::kDense},
    {Mixer::kAttention, FeedForward::kExperts, true},
    {Mixer::kLatentAttention, FeedForward::kExperts},
    {Mixer::kLinearAttention, FeedForward::kDense},
    {Mixer::kMamba, FeedForward::kNone},
    {Mixer::kNone, FeedForward::kExperts},
};

/// Sizes for every kind of layer, each its own number.
mcore::Run small_run() {
  mcore::Run run;
  run.model.hidden = 512;
  run.model.ffn = 2048;
  run.model.gated = true;
  run.model.hidden_dropout = 0;
  run.model.attention = {.num_heads = 8,
                         .num_query_groups = 4,
                         .head_dim = 64,
                         .window = 128,
                         .q_lora_rank = 96,
                         .kv_lora_rank = 48,
                         .qk_nope_dim = 32,
                         .qk_rope_dim = 16,
                         .v_dim = 40};
  run.model.state = {.num_key_heads = 4,
                     .num_value_heads = 8,
                     .key_dim = 32,
                     .value_dim = 64,
                     .num_heads = 16,
                     .head_dim = 64,
                     .state_dim = 32,
                     .num_groups = 2};
  run.model.experts = {.num_experts = 16, .topk = 2, .ffn = 256, .shared_ffn = 320};
  run.batch = {.micro = 2, .global = 2, .seq = 1024};
  run.parallel.sequence = true;
  return run;
}

/// All that an op moves or computes, in forward: FLOPs, bytes, tokens times width.
double amount(const Op& op) {
  struct Visitor {
    double operator()(const Gemm& g) const { return g.m * g.n * g.k * g.groups; }
    double operator()(const Attention& a) const { return a.flops; }
    double operator()(const MemoryTraffic& t) const { return t.forward; }
    double operator()(const Permute& p) const { return p.forward; }
    double operator()(const Scan& s) const { return s.forward; }
    double operator()(const ChunkedRule& r) const { return r.bytes.forward + r.flops.forward; }
    double operator()(const TensorLink& l) const { return l.bytes; }
    double operator()(const ContextLink& l) const { return l.bytes; }
    double operator()(const ExpertLink& l) const { return l.tokens * l.width; }
  };
  return std::visit(Visitor{}, op.work);
}

std::map<std::string, double> amounts(const mcore::Run& run, const LayerKind& kind) {
  std::map<std::string, double> sums;
  for (const Op& op : layer_ops(run, kind)) sums[std::string(op.name)] += amount(op);
  return sums;
}

const Op* op_named(const Ops& ops, std::string_view name) {
  const auto found =
      std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return op.name == name; });
  return found == ops.end() ? nullptr : &*found;
}

TEST(LayerOps, EveryAmountIsFiniteAndPositive) {
  mcore::Run run = small_run();
  run.parallel.tensor = run.parallel.context = 2;
  for (const LayerKind& kind : kKinds) {
    for (const Op& op : layer_ops(run, kind)) {
      EXPECT_GT(amount(op), 0) << op.name;
      EXPECT_TRUE(std::isfinite(amount(op))) << op.name;
      EXPECT_GT(op.host.forward, 0) << op.name;
      EXPECT_FALSE(op.scope.empty()) << op.name;
    }
  }
}

TEST(LayerOps, TwiceTheMicroBatchIsTwiceEverything) {
  const mcore::Run once = small_run();
  mcore::Run twice = once;
  twice.batch.micro *= 2;
  for (const LayerKind& kind : kKinds) {
    const auto before = amounts(once, kind), after = amounts(twice, kind);
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [name, value] : before) EXPECT_DOUBLE_EQ(after.at(name), 2 * value) << name;
  }
}

TEST(LayerOps, TwiceTheSequenceQuadruplesAttentionAndDoublesTheRest) {
  const mcore::Run once = small_run();
  mcore::Run twice = once;
  twice.batch.seq *= 2;
  const auto before = amounts(once, kKinds[0]), after = amounts(twice, kKinds[0]);
  for (const auto& [name, value] : before) {
    EXPECT_DOUBLE_EQ(after.at(name), (name == "core_attention" ? 4 : 2) * value) << name;
  }
}

TEST(LayerOps, SplittingOverRanksDividesTheProducts) {
  const mcore::Run whole = small_run();
  mcore::Run split = whole;
  split.parallel.tensor = 4;
  for (const LayerKind& kind : kKinds) {
    if (kind.mixer == Mixer::kNone) continue;
    const auto before = amounts(whole, kind), after = amounts(split, kind);
    for (const char* name : {"qkv", "core_attention", "attention_out", "q_down", "q_up", "kv_up",
                             "linear_in", "delta_rule", "linear_out", "mamba_in", "scan", "fc1",
                             "fc2", "expert_fc1", "norm", "residual"}) {
      if (!before.contains(name)) continue;
      EXPECT_DOUBLE_EQ(4 * after.at(name), before.at(name)) << name;
    }
    EXPECT_TRUE(after.contains("scatter"));
    EXPECT_FALSE(before.contains("scatter"));
  }
}

TEST(LayerOps, WithoutSequenceParallelismNormsAreNotSplit) {
  mcore::Run run = small_run();
  run.parallel.tensor = 4;
  const double split = amounts(run, kKinds[0]).at("norm");
  run.parallel.sequence = false;
  EXPECT_DOUBLE_EQ(amounts(run, kKinds[0]).at("norm"), 4 * split);
}

TEST(LayerOps, ContextParallelismAddsAnExchangeAndSplitsTheTokens) {
  const mcore::Run whole = small_run();
  mcore::Run split = whole;
  split.parallel.context = 2;
  for (const LayerKind& kind : kKinds) {
    const auto before = amounts(whole, kind), after = amounts(split, kind);
    const bool mixes = kind.mixer != Mixer::kNone && kind.mixer != Mixer::kMamba;
    EXPECT_EQ(after.size() > before.size(), mixes);
    for (const auto& [name, value] : before) EXPECT_DOUBLE_EQ(2 * after.at(name), value) << name;
  }
}

TEST(LayerOps, AWindowLimitsWhatATokenSees) {
  const mcore::Run run = small_run();
  LayerKind kind = kKinds[0];
  const double whole = amounts(run, kind).at("core_attention");
  kind.windowed = true;
  const double windowed = amounts(run, kind).at("core_attention");
  // 1024 tokens under a causal mask see 512 on average; in a window of 128: 128 - 128^2 / 2048.
  EXPECT_DOUBLE_EQ(windowed / whole, 120.0 / 512);
}

TEST(LayerOps, UnfusedAttentionComputesTheWholeMatrixAndMovesTheScores) {
  mcore::Run run = small_run();
  const double fused = amounts(run, kKinds[0]).at("core_attention");
  run.place.attention = mcore::AttentionKernel::kUnfused;
  const auto unfused = amounts(run, kKinds[0]);
  EXPECT_DOUBLE_EQ(unfused.at("core_attention"), 2 * fused);
  EXPECT_DOUBLE_EQ(unfused.at("scores"), 16.0 * 2 * 1024 * 1024 * 8);
}

TEST(LayerOps, WithoutACausalMaskATokenSeesAll) {
  mcore::Run run = small_run();
  const double causal = amounts(run, kKinds[0]).at("core_attention");
  run.model.family = mcore::Family::kBert;
  EXPECT_DOUBLE_EQ(amounts(run, kKinds[0]).at("core_attention"), 2 * causal);
}

TEST(LayerOps, ALatentMakesTheWayToTheExpertsNarrower) {
  mcore::Run run = small_run();
  const LayerKind kind = kKinds[5];
  const double wide = amounts(run, kind).at("dispatch");
  run.model.experts.latent_dim = 128;
  const auto narrow = amounts(run, kind);
  EXPECT_DOUBLE_EQ(narrow.at("dispatch"), wide / 4);
  EXPECT_TRUE(narrow.contains("latent_down") && narrow.contains("latent_up"));
}

TEST(LayerOps, EveryLabelNamesOpsOfSomeLayer) {
  LabelSet found;
  for (const LayerKind& kind : kKinds) {
    for (const Op& op : layer_ops(small_run(), kind)) found = found | op.labels;
  }
  for (const LabelRow& row : label_rows()) EXPECT_TRUE(found.contains(row.label)) << row.name;
}

TEST(LayerOps, InputNormIsLabelledOnlyWhereItIsNotFused) {
  const auto labelled = [](const LayerKind& kind) {
    const Ops ops = layer_ops(small_run(), kind);
    return std::count_if(ops.begin(), ops.end(),
                         [](const Op& op) { return op.labels.contains(Label::kLayernorm); });
  };
  EXPECT_EQ(labelled({Mixer::kAttention, FeedForward::kDense}), 0);
  EXPECT_EQ(labelled({Mixer::kAttention, FeedForward::kExperts}), 1);
  EXPECT_EQ(labelled({Mixer::kLatentAttention, FeedForward::kExperts}), 2);
}

TEST(LayerOps, TheFirstHalfEndsTheLayerOnlyWhereItIsAlone) {
  const Ops alone = layer_ops(small_run(), {Mixer::kAttention, FeedForward::kNone});
  EXPECT_TRUE(op_named(alone, "attention_out")->tail);
  const Ops both = layer_ops(small_run(), {Mixer::kAttention, FeedForward::kDense});
  EXPECT_FALSE(op_named(both, "attention_out")->tail);
  EXPECT_TRUE(op_named(both, "fc2")->tail);
  EXPECT_TRUE(both.back().tail);
}

TEST(LayerOps, TheOutputGateWidensTheProjection) {
  mcore::Run run = small_run();
  const double plain = amounts(run, kKinds[0]).at("qkv");
  run.model.attention.output_gate = true;
  const auto gated = amounts(run, kKinds[0]);
  EXPECT_DOUBLE_EQ(gated.at("qkv") / plain, (2.0 * 8 + 2 * 4) / (8 + 2 * 4));
  EXPECT_TRUE(gated.contains("output_gate"));
}

TEST(LayerOps, TheDeltaRuleMovesWhatItsKernelsReadAndWrite) {
  const mcore::Run run = small_run();
  const Ops ops = layer_ops(run, {Mixer::kLinearAttention, FeedForward::kNone});
  const auto& rule = std::get<ChunkedRule>(op_named(ops, "delta_rule")->work);
  // A head and token, dims 32 and 64, chunks of 64: 14 k + 12 v + 12 C + 4 k v / C bytes.
  const double forward = 14 * 32 + 12 * 64 + 12 * 64 + 4 * 32 * 64 / 64.0;
  EXPECT_DOUBLE_EQ(rule.bytes.forward, 2048 * 8 * forward);
  EXPECT_GT(rule.bytes.backward, 1.5 * rule.bytes.forward);
  EXPECT_GT(rule.flops.backward, 1.5 * rule.flops.forward);
}

}  // namespace
}  // namespace refrain::cost
