#include "config/rules/label_effect.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace refrain::config {
namespace {

using enum LabelList;

constexpr LayerKind kDense{}, kExpert{.has_experts = true};

bool idle(std::string_view label, const Knobs& k, LayerKind kind, const Context& s = {}) {
  return inactive_because(kRecompute, label, k, kind, s).has_value();
}

bool stays(std::string_view label, const Knobs& k, LayerKind kind, const Context& s = {}) {
  return inactive_because(kOffload, label, k, kind, s).has_value();
}

TEST(LabelEffect, LabelsDoNothingWithoutTheirModule) {
  Knobs k;
  EXPECT_TRUE(idle("mlp", k, kExpert));
  EXPECT_FALSE(idle("mlp", k, kDense));
  for (const std::string_view label : {"moe", "moe_act", "shared_experts"}) {
    EXPECT_TRUE(idle(label, k, kDense)) << label;
  }
  EXPECT_FALSE(idle("moe_act", k, kExpert));
  EXPECT_TRUE(idle("shared_experts", k, kExpert));
  k.moe_shared_expert_intermediate_size = 256;
  EXPECT_FALSE(idle("shared_experts", k, kExpert));
  EXPECT_TRUE(stays("expert_fc1", k, kDense));
  EXPECT_FALSE(stays("expert_fc1", k, kExpert));
  EXPECT_FALSE(stays("qkv_linear", k, kDense));
}

TEST(LabelEffect, FusedNormsHaveNothingToRecomputeOrToOffload) {
  Knobs k;
  EXPECT_TRUE(idle("layernorm", k, kDense));
  EXPECT_FALSE(idle("layernorm", k, kExpert));
  EXPECT_TRUE(stays("attn_norm", k, kExpert));
  EXPECT_TRUE(stays("mlp_norm", k, kDense));
  EXPECT_FALSE(stays("mlp_norm", k, kExpert));
  k.transformer_impl = "local";
  EXPECT_FALSE(idle("layernorm", k, kDense));
  k.transformer_impl = "transformer_engine";
  k.multi_latent_attention = true;
  EXPECT_FALSE(idle("layernorm", k, kDense));
  EXPECT_FALSE(stays("attn_norm", k, kDense));
  k.mla_down_proj_fusion = true;
  EXPECT_TRUE(idle("layernorm", k, kDense));
  EXPECT_TRUE(stays("attn_norm", k, kDense));
}

TEST(LabelEffect, ACapturedModulePassesItsCheckpointOver) {
  Knobs k;
  const Context s{Dialect::kMcore_0_19_2, {}};
  k.cuda_graph_impl = "transformer_engine";
  k.cuda_graph_modules = WordList{{"attn"}};
  EXPECT_TRUE(idle("core_attn", k, kDense, s));
  EXPECT_FALSE(idle("mlp", k, kDense, s));
  k.cuda_graph_impl = "none";
  EXPECT_FALSE(idle("core_attn", k, kDense, s));
}

TEST(LabelEffect, ACapturedRouterHoldsTheNormsOutput) {
  Knobs k;
  const Context s{Dialect::kMcore_0_19_2, {}};
  k.cuda_graph_impl = "transformer_engine";
  k.cuda_graph_modules = WordList{{"moe_router"}};
  EXPECT_TRUE(idle("layernorm", k, kExpert, s));
  k.cuda_graph_modules = WordList{{"moe_router", "moe_preprocess"}};
  EXPECT_FALSE(idle("layernorm", k, kExpert, s));
  k.moe_shared_expert_overlap = true;
  EXPECT_TRUE(idle("layernorm", k, kExpert, s));
  k.multi_latent_attention = true;  // the other norm stands apart
  EXPECT_FALSE(idle("layernorm", k, kExpert, s));
}

TEST(LabelEffect, AGraphOfPartsOfALayerKeepsNormsOnTheDevice) {
  Knobs k;
  const Context s{Dialect::kMcore_0_19_2, {}};
  k.multi_latent_attention = true;
  k.cuda_graph_impl = "transformer_engine";
  k.cuda_graph_modules = WordList{{"attn"}};
  EXPECT_TRUE(stays("attn_norm", k, kExpert, s));
  EXPECT_TRUE(stays("mlp_norm", k, kExpert, s));
  k.cuda_graph_modules = WordList{{"moe_router"}};
  EXPECT_FALSE(stays("attn_norm", k, kExpert, s));
  EXPECT_TRUE(stays("mlp_norm", k, kExpert, s));
  k.cuda_graph_impl = "full_iteration";
  EXPECT_FALSE(stays("mlp_norm", k, kExpert, s));
}

TEST(LabelEffect, WhateverIsToldIsAmongTheReasonsOfTheLabel) {
  for (const ModuleLabel& label : label_table()) {
    const auto reasons = inactive_reasons(label.list, label.name);
    for (const LayerKind kind : {kDense, kExpert}) {
      const auto told = inactive_because(label.list, label.name, {}, kind, {});
      if (!told) continue;
      EXPECT_NE(std::find(reasons.begin(), reasons.end(), *told), reasons.end()) << label.name;
    }
  }
  EXPECT_EQ(inactive_reasons(kRecompute, "mlp").size(), 2u);
  EXPECT_TRUE(inactive_reasons(kOffload, "qkv_linear").empty());
}

TEST(IdleLabels, AreThoseWithoutALayerThatHasThem) {
  Knobs k;
  const WordList words{{"mlp", "moe_act"}};
  EXPECT_TRUE(idle_labels(kRecompute, words, k, {}).empty());  // nobody told the model
  k.num_layers = 4;
  EXPECT_EQ(idle_labels(kRecompute, words, k, {}),
            (std::vector<std::string>{"moe_act (the layer is dense)"}));
  k.num_moe_experts = 8;
  k.moe_layer_freq = std::vector<int64_t>{0, 1, 1, 1};
  EXPECT_TRUE(idle_labels(kRecompute, words, k, {}).empty());
  k.moe_layer_freq = int64_t{1};
  EXPECT_EQ(idle_labels(kRecompute, words, k, {}).size(), 1u);
}

}  // namespace
}  // namespace refrain::config
