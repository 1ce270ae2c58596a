#include "config/knobs/knob_table.h"

#include <gtest/gtest.h>

#include <set>

#include "config/scan.h"

namespace refrain::config {
namespace {

Value set_and_get(std::string_view name, const Value& value) {
  Knobs knobs;
  const Knob& knob = *find_knob(name);
  return set_value(knobs, knob, value) ? value_of(knobs, knob) : Value("refused");
}

TEST(KnobTable, NamesAndAliasesNameOneKnobEach) {
  std::set<std::string> names;
  for (const Knob& knob : knob_table()) {
    EXPECT_TRUE(names.insert(std::string(knob.name)).second) << knob.name;
    EXPECT_EQ(find_knob(knob.name), &knob);
    EXPECT_EQ(bystander_dialects(knob.name), DialectSet()) << knob.name;
    if (knob.aliases.empty()) continue;
    for (const std::string& alias : split(knob.aliases, ',')) {
      EXPECT_TRUE(names.insert(alias).second) << alias;
      EXPECT_EQ(find_knob(alias), &knob) << alias;
    }
  }
}

TEST(KnobTable, EveryKnobSaysWhatItDoesAndSomebodyHasIt) {
  for (const Knob& knob : knob_table()) {
    EXPECT_FALSE(knob.effect.empty()) << knob.name;
    EXPECT_FALSE(knob.group.empty()) << knob.name;
    EXPECT_NE(knob.dialects, DialectSet()) << knob.name;
  }
}

TEST(KnobTable, EveryValueIsReadBackAsItWas) {
  const Knobs defaults;
  for (const Knob& knob : knob_table()) {
    Knobs knobs;
    ASSERT_TRUE(set_value(knobs, knob, value_of(defaults, knob))) << knob.name;
    EXPECT_EQ(knobs, defaults) << knob.name;
  }
}

TEST(KnobTable, DashesAndUnderscoresAreAlike) {
  EXPECT_EQ(find_knob("recompute-num-layers"), find_knob("recompute_num_layers"));
  EXPECT_EQ(find_knob("recompute_num_layer"), nullptr);
}

TEST(KnobTable, NullAndEmptyAndAbsentAreThreeThings) {
  EXPECT_EQ(set_and_get("recompute_modules", nullptr), nullptr);
  EXPECT_EQ(set_and_get("recompute_modules", Value::array()), Value::array());
  EXPECT_EQ(value_of(Knobs{}, *find_knob("offload_modules")), Value::array());
  EXPECT_EQ(set_and_get("offload_modules", nullptr), nullptr);
}

TEST(KnobTable, ATextIsNotAListOfOneWord) {
  EXPECT_EQ(set_and_get("cuda_graph_scope", "attn"), "attn");
  EXPECT_EQ(set_and_get("cuda_graph_scope", {"attn"}), Value({"attn"}));
}

TEST(KnobTable, ValuesOfAnotherTypeAreRefusedAndChangeNothing) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string_view, Value>>{{"recompute_num_layers", "1"},
                                                       {"recompute_num_layers", 1.5},
                                                       {"recompute_num_layers", true},
                                                       {"recompute_num_layers", UINT64_MAX},
                                                       {"sequence_parallel", 1},
                                                       {"sequence_parallel", nullptr},
                                                       {"hidden_dropout", "0.1"},
                                                       {"recompute_granularity", 3},
                                                       {"recompute_modules", {1, 2}},
                                                       {"moe_layer_freq", {1, "x"}},
                                                       {"moe_layer_freq", 0.5}}) {
    Knobs knobs;
    EXPECT_FALSE(set_value(knobs, *find_knob(name), value)) << name << ' ' << value;
    EXPECT_EQ(knobs, Knobs{}) << name;
  }
}

TEST(KnobTable, AWholeNumberIsARealOne) {
  EXPECT_EQ(set_and_get("hidden_dropout", 0), 0.0);
  EXPECT_EQ(set_and_get("moe_layer_freq", 2), 2);
  EXPECT_EQ(set_and_get("moe_layer_freq", {0, 1}), Value({0, 1}));
}

TEST(KnobTable, DefaultsFollowTheReleases) {
  EXPECT_TRUE(defaults_of(Dialect::kMcore_0_14_0).cpu_offloading_weights);
  EXPECT_FALSE(defaults_of(Dialect::kMcore_0_15_3).cpu_offloading_weights);
  EXPECT_FALSE(defaults_of(Dialect::kMcore_0_15_3).distribute_saved_activations.has_value());
  EXPECT_TRUE(defaults_of(Dialect::kMcore_0_16_1).distribute_saved_activations.has_value());
  EXPECT_TRUE(defaults_of(Dialect::kMcore_0_17_1).cuda_graph_scope.has_value());
  EXPECT_FALSE(defaults_of(Dialect::kMcore_0_18_2).cuda_graph_scope.has_value());
  EXPECT_EQ(defaults_of(Dialect::kRefrain), Knobs{});
}

TEST(Bystanders, AreKnownByRelease) {
  EXPECT_TRUE(bystander_dialects("layernorm_epsilon").has(Dialect::kMcore_0_12_3));
  EXPECT_FALSE(bystander_dialects("use_mup").has(Dialect::kMcore_0_16_1));
  EXPECT_TRUE(bystander_dialects("use_mup").has(Dialect::kMcore_0_17_1));
  EXPECT_EQ(bystander_dialects("no_such_field"), DialectSet());
}

}  // namespace
}  // namespace refrain::config
