#include "plan/presets.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "plan/prepare.h"
#include "plan/small_models.h"

namespace refrain::plan {
namespace {

using config::AttentionBackend;
using config::FullMethod;
using config::Granularity;
using config::Label;
using config::ModelConfig;
using config::RecomputeSetting;
using config::RunShape;
using program::ReplayPolicy;
using program::Step;
using program::StepKind;

// An odd number of layers, so that groups of two leave one over.
ModelConfig llama() { return small_llama(5); }
ModelConfig gpt() { return small_gpt(5); }

ModelConfig qwen() {
  ModelConfig config = llama();
  config.qk_norm = config.tied_embeddings = true;
  return config;
}

RecomputeSetting selective(std::vector<Label> labels) {
  return {.granularity = Granularity::kSelective, .labels = std::move(labels)};
}
RecomputeSetting full(FullMethod method, int64_t num_layers) {
  return {.granularity = Granularity::kFull, .method = method, .num_layers = num_layers};
}

std::vector<RecomputeSetting> all_settings() {
  constexpr std::array kLabels = {Label::kCoreAttn, Label::kLayernorm, Label::kMlp,
                                  Label::kPointwise};
  std::vector<RecomputeSetting> settings = {{}};
  for (unsigned subset = 1; subset < 1u << kLabels.size(); ++subset) {
    std::vector<Label> labels;
    for (size_t i = 0; i < kLabels.size(); ++i) {
      if (subset >> i & 1) labels.push_back(kLabels[i]);
    }
    settings.push_back(selective(labels));
  }
  for (int64_t k : {1, 2, 3, 5, 9}) {
    settings.push_back(full(FullMethod::kUniform, k));
    settings.push_back(full(FullMethod::kBlock, k));
  }
  return settings;
}

PreparedStep lower(const ModelConfig& config, const RecomputeSetting& setting, ReplayPolicy policy,
                   RunShape shape = {.micro_batch = 2, .seq = 16}) {
  return prepare(config, shape, setting, policy);
}

/// How often each op of a layer is replayed, summed over layers and micro-batches.
std::map<std::string, int> replays(const PreparedStep& lowered) {
  std::map<std::string, int> counts;
  for (const Step& step : lowered.program.steps) {
    if (step.kind != StepKind::kReplay) continue;
    ++counts[lowered.graph.graph(step.op.block).ops[step.op.op].name];
  }
  return counts;
}

Bytes saved(const PreparedStep& lowered) {
  Bytes most;
  for (const ledger::Entry& entry : lowered.timeline.entries) {
    most = std::max(most, entry.after[static_cast<size_t>(program::Account::kSavedActivations)]);
  }
  return most;
}

TEST(Presets, EverySettingGivesASoundProgram) {
  for (const ModelConfig& config : {llama(), gpt(), qwen()}) {
    for (const RecomputeSetting& setting : all_settings()) {
      for (ReplayPolicy policy : {ReplayPolicy::kDemand, ReplayPolicy::kRegion}) {
        for (double dropout : {0.0, 0.1}) {
          for (AttentionBackend attention :
               {AttentionBackend::kFused, AttentionBackend::kUnfused}) {
            for (bool clip : {false, true}) {
              const RunShape shape = {.micro_batch = 2,
                                      .seq = 16,
                                      .num_micro_batches = clip ? 1 : 2,
                                      .attention = attention,
                                      .dropout = dropout,
                                      .clip_grad = clip ? 1.0 : 0.0};
              EXPECT_NO_THROW(prepare(config, shape, setting, policy)) << to_text(setting);
            }
          }
        }
      }
    }
  }
}

TEST(Presets, NoneReplaysNothing) {
  EXPECT_TRUE(replays(lower(llama(), {}, ReplayPolicy::kDemand)).empty());
  EXPECT_TRUE(replays(lower(llama(), {}, ReplayPolicy::kRegion)).empty());
}

TEST(Presets, DemandNeverReplaysTheLastGemmOfMlpAndRegionDoes) {
  const RecomputeSetting mlp = selective({Label::kMlp});
  EXPECT_EQ(replays(lower(llama(), mlp, ReplayPolicy::kDemand)),
            (std::map<std::string, int>{{"mlp.up_proj", 5}, {"mlp.act", 5}}));
  EXPECT_EQ(replays(lower(llama(), mlp, ReplayPolicy::kRegion)),
            (std::map<std::string, int>{{"mlp.up_proj", 5}, {"mlp.act", 5}, {"mlp.down_proj", 5}}));
}

TEST(Presets, FusedCoreAttentionIsReplayedByRegionAndForNothing) {
  const RecomputeSetting both = selective({Label::kCoreAttn, Label::kMlp});
  EXPECT_EQ(replays(lower(llama(), both, ReplayPolicy::kDemand)).count("attn.core"), 0u);
  EXPECT_EQ(replays(lower(llama(), both, ReplayPolicy::kRegion)).at("attn.core"), 5);
  const RecomputeSetting core = selective({Label::kCoreAttn});
  const PreparedStep none = lower(llama(), {}, ReplayPolicy::kDemand);
  EXPECT_EQ(saved(lower(llama(), core, ReplayPolicy::kDemand)), saved(none));
}

TEST(Presets, UnfusedCoreAttentionFreesTheProbabilities) {
  const RunShape shape = {.micro_batch = 2, .seq = 16, .attention = AttentionBackend::kUnfused};
  const PreparedStep none = lower(llama(), {}, ReplayPolicy::kDemand, shape);
  const PreparedStep core =
      lower(llama(), selective({Label::kCoreAttn}), ReplayPolicy::kDemand, shape);
  const Bytes probabilities(int64_t{5} * 2 * 4 * 16 * 16 * 4);  // layers, b, H, s, s, float32
  EXPECT_EQ(saved(none) - saved(core), probabilities);
  EXPECT_EQ(replays(core), (std::map<std::string, int>{{"attn.scores", 5}, {"attn.softmax", 5}}));
}

TEST(Presets, PointwiseReplaysNoGemmAndNoAttention) {
  const PreparedStep lowered =
      lower(llama(), selective({Label::kPointwise}), ReplayPolicy::kDemand);
  EXPECT_EQ(replays(lowered),
            (std::map<std::string, int>{{"attn.norm", 5}, {"mlp.norm", 5}, {"mlp.act", 5}}));
}

TEST(Presets, LayernormIsRestoredBeforeTheModulesBackwardByRegionAndLateByDemand) {
  const auto order = [](ReplayPolicy policy) {
    const PreparedStep lowered = lower(llama(), selective({Label::kLayernorm}), policy);
    std::vector<std::string> names;
    for (const Step& step : lowered.program.steps) {
      const bool interesting = step.op.block == 5 && (step.kind == StepKind::kReplay ||
                                                      step.kind == StepKind::kBackwardWeights);
      if (interesting) names.push_back(lowered.graph.graph(5).ops[step.op.op].name);
    }
    return names;
  };
  EXPECT_EQ(order(ReplayPolicy::kRegion),
            (std::vector<std::string>{"mlp.norm", "mlp.down_proj", "mlp.up_proj", "attn.norm",
                                      "attn.out_proj", "attn.qkv_proj"}));
  EXPECT_EQ(order(ReplayPolicy::kDemand),
            (std::vector<std::string>{"mlp.down_proj", "mlp.norm", "mlp.up_proj", "attn.out_proj",
                                      "attn.norm", "attn.qkv_proj"}));
}

TEST(Presets, UniformSavesOneInputAGroupAndItsLastGroupMayBeShorter) {
  const Bytes hidden(int64_t{2} * 16 * 32 * 4);
  const auto saved_inputs = [&](int64_t k) {
    const PreparedStep lowered =
        lower(llama(), full(FullMethod::kUniform, k), ReplayPolicy::kDemand);
    // One input a group; the head's norm keeps its input and statistics as well.
    return (saved(lowered) - hidden - Bytes(2 * 16 * 4)).count() / hidden.count();
  };
  EXPECT_EQ(saved_inputs(1), 5);
  EXPECT_EQ(saved_inputs(2), 3);
  EXPECT_EQ(saved_inputs(5), 1);
  EXPECT_EQ(saved_inputs(9), 1);
}

TEST(Presets, BlockRecomputesTheFirstLayers) {
  const PreparedStep lowered = lower(llama(), full(FullMethod::kBlock, 2), ReplayPolicy::kDemand);
  std::set<int32_t> blocks;
  for (const Step& step : lowered.program.steps) {
    if (step.kind == StepKind::kReplay) blocks.insert(step.op.block);
  }
  EXPECT_EQ(blocks, (std::set<int32_t>{1, 2}));
}

TEST(Presets, FullRunsAllButTheLastGemmOfALayerAgain) {
  const std::map<std::string, int> demand =
      replays(lower(llama(), full(FullMethod::kUniform, 1), ReplayPolicy::kDemand));
  EXPECT_EQ(demand.count("mlp.down_proj"), 0u);
  EXPECT_EQ(demand.at("attn.core"), 5);
  const std::map<std::string, int> region =
      replays(lower(llama(), full(FullMethod::kUniform, 1), ReplayPolicy::kRegion));
  EXPECT_EQ(region.at("mlp.down_proj"), 5);
}

// Fused core attention is the exception: `region` runs it again and saves its log-sum-exp, which
// `demand` keeps instead.
TEST(Presets, DemandNeverNeedsMoreThanRegionButForAFusedLogSumExp) {
  const Bytes log_sum_exp(int64_t{5} * 2 * 4 * 16 * 4);  // layers, b, H, s, float32
  for (const ModelConfig& config : {llama(), gpt(), qwen()}) {
    for (const RecomputeSetting& setting : all_settings()) {
      const bool core = std::count(setting.labels.begin(), setting.labels.end(), Label::kCoreAttn);
      EXPECT_LE(lower(config, setting, ReplayPolicy::kDemand).timeline.peak,
                lower(config, setting, ReplayPolicy::kRegion).timeline.peak +
                    (core ? log_sum_exp : Bytes()))
          << to_text(setting);
    }
  }
}

TEST(Presets, GradientBuffersLiveFromTheirFirstWriteToTheirUpdate) {
  const PreparedStep lowered = lower(llama(), {}, ReplayPolicy::kDemand);
  Bytes most;
  for (const ledger::Entry& entry : lowered.timeline.entries) {
    most = std::max(most, entry.during[static_cast<size_t>(program::Account::kGradients)]);
  }
  const Bytes head(64 * 32 * 4);
  const Bytes up(int64_t{192} * 32 * 4);
  EXPECT_EQ(most, std::max(head, up));  // never two at once: the largest weight is the most
}

}  // namespace
}  // namespace refrain::plan
