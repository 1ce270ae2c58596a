#include <gtest/gtest.h>

#include <set>

#include "config/knobs/knob_table.h"
#include "config/rules/label_effect.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

TEST(RuleTable, IdsAreUniqueAndReadable) {
  std::set<std::string_view> ids;
  for (const Rule* rule : all_rules()) {
    EXPECT_TRUE(ids.insert(rule->id).second) << rule->id;
    EXPECT_EQ(rule->id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-."),
              std::string_view::npos)
        << rule->id;
    EXPECT_NE(rule->id.find('.'), std::string_view::npos) << rule->id;
  }
}

TEST(RuleTable, EveryRuleSaysWhyAndErrorsSayWhatToDo) {
  for (const Rule* rule : all_rules()) {
    EXPECT_FALSE(rule->because.empty()) << rule->id;
    EXPECT_EQ(rule->remedy.empty(), rule->outcome == Outcome::kFill) << rule->id;
    EXPECT_NE(rule->broken, nullptr) << rule->id;
    EXPECT_NE(rule->dialects, DialectSet()) << rule->id;
  }
}

TEST(RuleTable, OnlyRewritesRewrite) {
  for (const Rule* rule : all_rules()) {
    const bool rewrites = rule->outcome == Outcome::kRewrite || rule->outcome == Outcome::kFill;
    EXPECT_EQ(rule->rewrite != nullptr, rewrites) << rule->id;
  }
}

TEST(RuleTable, EveryKnobThatARuleNamesIsThere) {
  for (const Rule* rule : all_rules()) {
    for (const std::string& name : split(rule->knobs, ' ')) {
      EXPECT_NE(find_knob(name), nullptr) << rule->id << ": " << name;
    }
  }
}

TEST(LayerKinds, FollowTheFrequency) {
  Knobs k;
  k.num_layers = 4;
  k.num_moe_experts = 8;
  k.moe_layer_freq = int64_t{2};
  const auto kinds = layer_kinds(k);
  ASSERT_EQ(kinds.size(), 4u);
  EXPECT_TRUE(kinds[0].has_experts);
  EXPECT_FALSE(kinds[1].has_experts);
  k.moe_layer_freq = std::vector<int64_t>{0, 1, 1, 1};
  EXPECT_FALSE(layer_kinds(k)[0].has_experts);
  EXPECT_TRUE(layer_kinds(k)[1].has_experts);
  k.num_moe_experts.reset();
  EXPECT_FALSE(layer_kinds(k)[1].has_experts);
  k.num_layers = 0;
  EXPECT_TRUE(layer_kinds(k).empty());
}

TEST(LayerKinds, BesideADeltaNetSomeLayersKeepSoftmax) {
  Knobs k;
  k.num_layers = 4;
  k.experimental_attention_variant = "gated_delta_net";
  k.linear_attention_freq = int64_t{4};
  EXPECT_FALSE(layer_kinds(k)[2].softmax_attention);
  EXPECT_TRUE(layer_kinds(k)[3].softmax_attention);
  k.linear_attention_freq = std::vector<int64_t>{0, 1, 1, 1};
  EXPECT_TRUE(layer_kinds(k)[0].softmax_attention);
  EXPECT_FALSE(layer_kinds(k)[3].softmax_attention);
}

TEST(LabelEffect, LabelsDoNothingWithoutTheirModule) {
  Knobs k;
  const Context s;
  const LayerKind dense{}, expert{.has_experts = true};
  EXPECT_TRUE(inactive_because("mlp", k, expert, s));
  EXPECT_FALSE(inactive_because("mlp", k, dense, s));
  for (const std::string_view label : {"moe", "moe_act", "shared_experts"}) {
    EXPECT_TRUE(inactive_because(label, k, dense, s)) << label;
  }
  EXPECT_FALSE(inactive_because("moe_act", k, expert, s));
  EXPECT_TRUE(inactive_because("shared_experts", k, expert, s));
  k.moe_shared_expert_intermediate_size = 256;
  EXPECT_FALSE(inactive_because("shared_experts", k, expert, s));
}

TEST(LabelEffect, FusedNormsHaveNothingToRecompute) {
  Knobs k;
  const Context s;
  EXPECT_TRUE(inactive_because("layernorm", k, {}, s));
  EXPECT_FALSE(inactive_because("layernorm", k, {.has_experts = true}, s));
  k.transformer_impl = "local";
  EXPECT_FALSE(inactive_because("layernorm", k, {}, s));
  k.transformer_impl = "transformer_engine";
  k.multi_latent_attention = true;
  EXPECT_FALSE(inactive_because("layernorm", k, {}, s));
  k.mla_down_proj_fusion = true;
  EXPECT_TRUE(inactive_because("layernorm", k, {}, s));
}

TEST(LabelEffect, ACapturedModulePassesItsCheckpointOver) {
  Knobs k;
  Context s{Dialect::kMcore_0_19_2, {}};
  k.cuda_graph_impl = "transformer_engine";
  k.cuda_graph_modules = WordList{{"attn"}};
  EXPECT_TRUE(inactive_because("core_attn", k, {}, s));
  EXPECT_FALSE(inactive_because("mlp", k, {}, s));
  k.cuda_graph_impl = "none";
  EXPECT_FALSE(inactive_because("core_attn", k, {}, s));
}

}  // namespace
}  // namespace refrain::config
