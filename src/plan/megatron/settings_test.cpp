#include "plan/megatron/settings.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace refrain::plan {
namespace {

using mcore::FeedForward;
using mcore::Mixer;
using mcore::Recompute;
using Labels = std::vector<std::string>;

mcore::Run dense(int64_t layers) {
  mcore::Run run;
  run.model.layers.assign(layers, {});
  return run;
}

mcore::Run experts_with_latent_attention() {
  mcore::Run run = dense(4);
  for (mcore::LayerKind& kind : run.model.layers) {
    kind = {.mixer = Mixer::kLatentAttention, .feed_forward = FeedForward::kExperts};
  }
  return run;
}

TEST(Settings, OfferOnlyLabelsThatTheModelHas) {
  EXPECT_EQ(labels_of(dense(2).model), (Labels{"core_attn", "layernorm", "mlp"}));
  mcore::Run run = experts_with_latent_attention();
  EXPECT_EQ(labels_of(run.model),
            (Labels{"core_attn", "layernorm", "mla_up_proj", "moe", "moe_act"}));
  run.model.experts.shared_ffn = 8;
  EXPECT_EQ(labels_of(run.model).back(), "shared_experts");
}

TEST(Settings, ReadBackWhatIsWritten) {
  for (const mcore::Run& run : {dense(6), experts_with_latent_attention()}) {
    for (const Recompute& setting : all_settings(run)) {
      const auto read = read_setting(to_text(setting), run.model);
      ASSERT_TRUE(read.value) << to_text(setting);
      EXPECT_EQ(read.value->method, setting.method);
      EXPECT_EQ(read.value->labels, setting.labels);
      EXPECT_EQ(read.value->num_layers, setting.num_layers);
    }
  }
}

TEST(Settings, WhatCannotBeReadIsAFinding) {
  const mcore::Model model = dense(6).model;
  const auto rule = [&](std::string_view text) {
    const auto read = read_setting(text, model);
    return read.value ? "" : read.findings.at(0).rule;
  };
  EXPECT_EQ(rule("selective:mlpp"), "recompute.unknown-label");
  EXPECT_EQ(rule("selective:moe"), "recompute.unknown-label");  // this model has no experts
  EXPECT_EQ(rule("selective:"), "recompute.unknown-label");
  EXPECT_EQ(rule(""), "recompute.unreadable");
  EXPECT_EQ(rule("full"), "recompute.unreadable");
  EXPECT_EQ(rule("full:uniform"), "recompute.unreadable");
  EXPECT_EQ(rule("full:blocks:1"), "recompute.unreadable");
  EXPECT_EQ(rule("full:block:0"), "recompute.num-layers");
  EXPECT_EQ(rule("full:block:7"), "recompute.num-layers");
  EXPECT_EQ(rule("full:block:6"), "");
}

TEST(Settings, EverySubsetOfLabelsAndEveryBlockOfAChunkIsOffered) {
  mcore::Run run = dense(12);
  run.parallel.pipeline = 3;
  const std::vector<Recompute> settings = all_settings(run);
  EXPECT_EQ(settings.size(), 8u + 4u + 1u);  // subsets of three labels, blocks of 1 to 4, uniform
  const auto blocks = std::count_if(settings.begin(), settings.end(), [](const Recompute& r) {
    return r.method == Recompute::Method::kBlock;
  });
  EXPECT_EQ(blocks, 4);
}

TEST(Settings, AreWrittenAsMegatronReadsThem) {
  const Recompute labels = {.method = Recompute::Method::kSelective, .labels = {"mlp", "moe_act"}};
  EXPECT_EQ(megatron_lm_flags(labels),
            "--recompute-granularity selective --recompute-modules mlp moe_act");
  EXPECT_EQ(bridge_overrides(labels),
            "model.recompute_granularity=selective model.recompute_modules=[mlp,moe_act]");
  const Recompute block = {.method = Recompute::Method::kBlock, .num_layers = 3};
  EXPECT_EQ(megatron_lm_flags(block),
            "--recompute-granularity full --recompute-method block --recompute-num-layers 3");
  EXPECT_EQ(megatron_lm_flags({}), "");
}

}  // namespace
}  // namespace refrain::plan
