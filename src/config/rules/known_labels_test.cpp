#include "config/rules/known_labels.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

using enum Dialect;
using enum LabelList;

TEST(KnownLabels, EveryLabelIsKnownToRefrain) {
  for (const ModuleLabel& label : label_table()) {
    EXPECT_TRUE(dialects_of(label).has(kRefrain)) << label.name;
  }
}

TEST(KnownLabels, AReleaseKnowsALabelFromItsFirstOneOn) {
  EXPECT_FALSE(knows(kMcore_0_13_1, kRecompute, "shared_experts"));
  EXPECT_TRUE(knows(kMcore_0_14_0, kRecompute, "shared_experts"));
  EXPECT_FALSE(knows(kMcore_0_18_2, kOffload, "fused_group_mlp"));
  EXPECT_TRUE(knows(kMcore_0_19_2, kOffload, "fused_group_mlp"));
  EXPECT_TRUE(knows(kBridge, kRecompute, "gdn_norm_out"));
}

TEST(KnownLabels, WhatNoReleaseHasIsKnownToRefrainAlone) {
  for (const std::string_view label : {"mhc", "gdp_in_proj", "gdp_qkv", "pointwise"}) {
    EXPECT_FALSE(knows(kBridge, kRecompute, label)) << label;
    EXPECT_TRUE(knows(kRefrain, kRecompute, label)) << label;
  }
}

TEST(KnownLabels, TheListsAreKeptApart) {
  EXPECT_EQ(
      known_labels(kRecompute, kMcore_0_12_3),
      (std::vector<std::string>{"core_attn", "layernorm", "mlp", "moe", "moe_act", "mla_up_proj"}));
  EXPECT_TRUE(known_labels(kOffload, kMcore_0_15_3).empty());
  EXPECT_FALSE(knows(kRefrain, kOffload, "mlp"));
}

TEST(WrongLabels, AnUnknownOneComesWithWhoKnowsItOrWhatIsNear) {
  const WordList words{{"mlp", "shared_experts", "core_atn", "zzzzzzzz"}};
  EXPECT_EQ(wrong_labels(words, kRecompute, kMcore_0_13_1),
            "recompute_modules must be some of core_attn, layernorm, mlp, moe, moe_act, "
            "mla_up_proj: 'shared_experts' (known to mcore-0.14.0 to mcore-0.19.2, bridge, "
            "refrain), 'core_atn' (did you mean core_attn?), 'zzzzzzzz'");
  EXPECT_FALSE(wrong_labels(WordList{{"mlp"}}, kRecompute, kMcore_0_13_1));
  EXPECT_FALSE(wrong_labels(WordList{}, kRecompute, kMcore_0_13_1));
}

TEST(WrongLabels, AreDroppedByTheRemedy) {
  const Remedy remedy =
      drop_wrong_labels(WordList{{"mlp", "shared_experts", "core_atn"}}, kRecompute, kMcore_0_14_0);
  ASSERT_EQ(remedy.set.size(), 1u);
  EXPECT_EQ(remedy.set[0].knob, "recompute_modules");
  EXPECT_EQ(remedy.set[0].value, (Value{"mlp", "shared_experts"}));
}

TEST(WrongLabels, ATextIsNoListUnlessItIsEmpty) {
  EXPECT_TRUE(wrong_labels(WordList{{"mlp"}, true}, kRecompute, kRefrain));
  EXPECT_FALSE(wrong_labels(WordList{{""}, true}, kRecompute, kRefrain));
}

}  // namespace
}  // namespace refrain::config
