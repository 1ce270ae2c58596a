#include "config/knobs/configuration.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

Assignment set(std::string knob, Value value) {
  return {std::move(knob), std::move(value), {Origin::kOverride, "here"}, false};
}

std::string rule_of(const Assignments& assignments, Dialect dialect) {
  const auto configured = configure(assignments, dialect);
  return configured.findings.empty() ? "none" : configured.findings[0].rule;
}

TEST(Configure, TheLastAssignmentWins) {
  const auto configured =
      configure({set("tp", 2), set("tensor_model_parallel_size", 8)}, Dialect::kRefrain);
  ASSERT_TRUE(configured.value);
  EXPECT_EQ(configured.value->knobs.tensor_model_parallel_size, 8);
}

TEST(Configure, RemovingGoesBackToTheDefault) {
  Assignment removal{"tp", nullptr, {Origin::kOverride, "~tp"}, true};
  const auto configured = configure({set("tp", 2), removal}, Dialect::kRefrain);
  ASSERT_TRUE(configured.value);
  EXPECT_EQ(configured.value->knobs, Knobs{});
  EXPECT_TRUE(configured.value->sources.empty());
}

TEST(Configure, RemembersWhereAValueComesFrom) {
  const auto configured = configure({set("pp", 4)}, Dialect::kRefrain);
  ASSERT_TRUE(configured.value);
  EXPECT_EQ(configured.value->sources.at("pipeline_model_parallel_size"),
            (Source{Origin::kOverride, "here"}));
}

TEST(Configure, AnUnknownKnobGetsTheNearest) {
  const auto configured = configure({set("recompute_num_layer", 1)}, Dialect::kRefrain);
  ASSERT_FALSE(configured.value);
  EXPECT_EQ(configured.findings.at(0).rule, "knob.unknown");
  EXPECT_NE(configured.findings[0].remedy.find("recompute_num_layers"), std::string::npos);
}

TEST(Configure, AKnobOfAnotherReleaseSaysWhoHasIt) {
  EXPECT_EQ(rule_of({set("offload_modules", {"moe_act"})}, Dialect::kMcore_0_15_3),
            "knob.not-in-dialect");
  EXPECT_EQ(rule_of({set("offload_modules", {"moe_act"})}, Dialect::kMcore_0_16_1), "none");
  EXPECT_EQ(rule_of({set("use_mup", true)}, Dialect::kMcore_0_16_1), "knob.not-in-dialect");
  EXPECT_EQ(rule_of({set("use_mup", true)}, Dialect::kMcore_0_17_1), "none");
}

TEST(Configure, KnobsOfOtherPartsAreNoted) {
  const auto configured = configure({set("optimizer.lr", 1e-4)}, Dialect::kRefrain);
  ASSERT_TRUE(configured.value);
  EXPECT_EQ(configured.findings.at(0).rule, "knob.elsewhere");
}

TEST(Configure, EveryFindingIsToldAtOnce) {
  const auto configured = configure(
      {set("nonsense", 1), set("tp", "two"), set("recompute_modules", 7)}, Dialect::kRefrain);
  ASSERT_FALSE(configured.value);
  ASSERT_EQ(configured.findings.size(), 3u);
  EXPECT_EQ(configured.findings[1].rule, "knob.wrong-type");
  EXPECT_EQ(configured.findings[2].rule, "knob.wrong-type");
}

}  // namespace
}  // namespace refrain::config
