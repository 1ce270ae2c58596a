#include "config/check/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "config/knobs/configuration.h"
#include "config/rules/table/rule_table.h"

namespace refrain::config {
namespace {

Knobs knobs(std::initializer_list<std::pair<std::string, Value>> values, Dialect dialect) {
  Assignments assignments;
  for (const auto& [knob, value] : values) assignments.push_back({knob, value, {}, false});
  return configure(assignments, dialect).value.value().knobs;
}

bool speaks(const Judgement& judgement, std::string_view rule) {
  return std::any_of(judgement.rulings.begin(), judgement.rulings.end(),
                     [&](const Ruling& ruling) { return ruling.rule->id == rule; });
}

TEST(Judge, TheFirstErrorIsTheOneThatIsRaised) {
  const Knobs k = knobs({{"num_layers", 4},
                         {"num_attention_heads", 4},
                         {"recompute_granularity", "full"},
                         {"cuda_graph_impl", "bogus"}},
                        Dialect::kMcore_0_19_2);
  const Judgement judgement = judge(k, Dialect::kMcore_0_19_2);
  EXPECT_FALSE(judgement.accepted);
  EXPECT_EQ(judgement.raised, Outcome::kValueError);
  EXPECT_TRUE(speaks(judgement, "recompute.method-missing"));
  EXPECT_TRUE(speaks(judgement, "recompute.num-layers-missing"));
  EXPECT_TRUE(speaks(judgement, "graph.unknown-implementation"));
}

TEST(Judge, RewritesAreSeenByLaterRules) {
  // The old switch makes it selective with moe, which the overlap excludes.
  const Knobs k = knobs({{"num_layers", 4},
                         {"num_attention_heads", 4},
                         {"bf16", true},
                         {"add_bias_linear", false},
                         {"num_moe_experts", 8},
                         {"expert_model_parallel_size", 2},
                         {"moe_token_dispatcher_type", "alltoall"},
                         {"overlap_moe_expert_parallel_comm", true},
                         {"moe_layer_recompute", true}},
                        Dialect::kMcore_0_19_2);
  const Judgement judgement = judge(k, Dialect::kMcore_0_19_2);
  EXPECT_EQ(judgement.effective.recompute_granularity, "selective");
  EXPECT_TRUE(speaks(judgement, "overlap.recomputed-moe"));
  EXPECT_FALSE(judgement.accepted);
}

TEST(Judge, AMissingTransformerEngineIsVersionZero) {
  const auto with_te = [](Value version) {
    return judge(knobs({{"fp8", "hybrid"},
                        {"fp8_recipe", "mxfp8"},
                        {"recompute_granularity", "selective"},
                        {"recompute_modules", {"layernorm"}},
                        {"te_version", std::move(version)}},
                       Dialect::kRefrain),
                 Dialect::kRefrain)
        .accepted;
  };
  EXPECT_TRUE(with_te("2.6.0"));
  EXPECT_TRUE(with_te("2.10"));
  EXPECT_TRUE(with_te("recent"));
  EXPECT_FALSE(with_te("2.5.0"));
  EXPECT_FALSE(with_te(nullptr));
}

const Rule& rule_named(std::string_view id) {
  for (const Rule* rule : all_rules()) {
    if (rule->id == id) return *rule;
  }
  throw std::out_of_range(std::string(id));
}

/// Full recompute under graphs of layers, and how many of its remedies name a knob so.
std::vector<CheckedRemedy> ways_out(std::initializer_list<std::pair<std::string, Value>> graph,
                                    Dialect dialect) {
  Knobs k = knobs(graph, dialect);
  k.num_layers = 4;
  k.num_attention_heads = 4;
  k.recompute_granularity = "full";
  k.recompute_method = "uniform";
  k.recompute_num_layers = 1;
  return remedies_of(rule_named("graph.full-recompute"), k, dialect);
}

bool sets(const std::vector<CheckedRemedy>& remedies, std::string_view knob, const Value& value) {
  return std::any_of(remedies.begin(), remedies.end(), [&](const CheckedRemedy& remedy) {
    return std::any_of(remedy.set.begin(), remedy.set.end(), [&](const Assignment& set) {
      return set.knob == knob && set.value == value;
    });
  });
}

TEST(Remedies, FullRecomputeUnderGraphsHasThreeWaysOut) {
  const auto newest =
      ways_out({{"cuda_graph_impl", "transformer_engine"}, {"cuda_graph_modules", {"attn"}}},
               Dialect::kMcore_0_19_2);
  EXPECT_TRUE(sets(newest, "recompute_granularity", "selective"));
  EXPECT_TRUE(sets(newest, "cuda_graph_impl", "none"));
  EXPECT_TRUE(sets(newest, "cuda_graph_impl", "full_iteration"));
  const auto older = ways_out({{"cuda_graph_impl", "local"}, {"cuda_graph_scope", {"attn"}}},
                              Dialect::kMcore_0_17_1);
  EXPECT_TRUE(sets(older, "recompute_granularity", "selective"));
  EXPECT_TRUE(sets(older, "cuda_graph_impl", "none"));
  EXPECT_TRUE(sets(older, "cuda_graph_scope", {"full_iteration"}));
}

TEST(Remedies, MendFurtherErrorsInTheirTurn) {
  const Knobs k =
      knobs({{"recompute_granularity", "full"}, {"sequence_parallel", true}}, Dialect::kRefrain);
  const auto remedies = remedies_of(rule_named("recompute.method-missing"), k, Dialect::kRefrain);
  ASSERT_FALSE(remedies.empty());
  EXPECT_TRUE(sets(remedies, "recompute_method", "uniform"));
  EXPECT_TRUE(sets(remedies, "recompute_num_layers", 1));
}

// Random mixtures of what the rules read: whatever is told as a way out is one.
class RandomKnobs {
 public:
  explicit RandomKnobs(uint64_t seed) : random_(seed) {}

  Assignments draw(Dialect dialect) {
    Assignments drawn = {{"num_layers", 8, {}, false}, {"num_attention_heads", 8, {}, false}};
    for (const auto& [knob, values] : kValues) {
      if (!find_knob(knob)->dialects.has(dialect) || below(3) != 0) continue;
      drawn.push_back({knob, values[below(values.size())], {}, false});
    }
    std::shuffle(drawn.begin(), drawn.end(), random_);
    return drawn;
  }

  void shuffle(Assignments& assignments) {
    std::shuffle(assignments.begin(), assignments.end(), random_);
  }

 private:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  std::mt19937_64 random_;
  static inline const std::vector<std::pair<std::string, std::vector<Value>>> kValues = {
      {"recompute_granularity", {"full", "selective", "partial", nullptr}},
      {"recompute_method", {"uniform", "block", "balanced"}},
      {"recompute_num_layers", {1, 0, 9}},
      {"recompute_modules",
       {Value::array(), {"moe"}, {"mlp", "core_attn"}, {"layernorm", "moe_act"}, {"bogus"}, "mlp"}},
      {"distribute_saved_activations", {true}},
      {"moe_layer_recompute", {true}},
      {"cpu_offloading", {true}},
      {"cpu_offloading_num_layers", {1, 8, nullptr}},
      {"fine_grained_activation_offloading", {true}},
      {"offload_modules", {nullptr, {"attn_proj"}, {"moe_act"}, {"core_attn", "nothing"}}},
      {"cuda_graph_impl", {"local", "transformer_engine", "full_iteration", "bogus"}},
      {"cuda_graph_scope", {"full", {"full_iteration"}, {"attn", "moe_router"}, "moe"}},
      {"cuda_graph_modules", {"full,attn", {"full_iteration_inference"}, {"moe"}, {"x"}}},
      {"enable_cuda_graph", {true}},
      {"external_cuda_graph", {true}},
      {"tensor_model_parallel_size", {2, 3}},
      {"pipeline_model_parallel_size", {2, 4}},
      {"virtual_pipeline_model_parallel_size", {2}},
      {"sequence_parallel", {true}},
      {"expert_model_parallel_size", {2}},
      {"num_moe_experts", {8, 0}},
      {"moe_grouped_gemm", {true}},
      {"moe_token_dispatcher_type", {"alltoall", "flex"}},
      {"moe_shared_expert_intermediate_size", {64, -1}},
      {"moe_shared_expert_overlap", {true}},
      {"moe_expert_capacity_factor", {1.0, -1.0}},
      {"moe_pad_expert_input_to_capacity", {true}},
      {"overlap_moe_expert_parallel_comm", {true}},
      {"delay_wgrad_compute", {true}},
      {"mtp_num_layers", {0, 1, 2}},
      {"bf16", {true}},
      {"fp8", {"hybrid"}},
      {"fp8_recipe", {"mxfp8"}},
      {"hidden_dropout", {0.0}},
      {"attention_dropout", {0.0}},
      {"te_version", {nullptr, "2.5.0"}}};
};

TEST(Remedies, EveryOneThatIsToldIsAccepted) {
  int told = 0;
  for (const Dialect dialect : all_dialects()) {
    RandomKnobs random(7);
    for (int i = 0; i < 60; ++i) {
      const Knobs given = configure(random.draw(dialect), dialect).value.value().knobs;
      for (const Ruling& ruling : judge(given, dialect).rulings) {
        if (!is_error(ruling.rule->outcome)) continue;
        for (const CheckedRemedy& remedy : remedies_of(*ruling.rule, given, dialect)) {
          Knobs mended = given;
          for (const Assignment& set : remedy.set) {
            ASSERT_TRUE(set_value(mended, *find_knob(set.knob), set.value));
          }
          EXPECT_TRUE(judge(mended, dialect).accepted)
              << to_text(dialect) << ' ' << ruling.rule->id << ' ' << remedy.text;
          ++told;
        }
      }
    }
  }
  EXPECT_GT(told, 1000);
}

TEST(Judge, FindingsDoNotDependOnTheOrderOfKnobs) {
  for (const Dialect dialect : all_dialects()) {
    RandomKnobs random(11);
    for (int i = 0; i < 100; ++i) {
      Assignments drawn = random.draw(dialect);
      const Judgement one = judge(configure(drawn, dialect).value.value().knobs, dialect);
      random.shuffle(drawn);
      const Judgement two = judge(configure(drawn, dialect).value.value().knobs, dialect);
      ASSERT_EQ(one.rulings.size(), two.rulings.size());
      for (size_t r = 0; r < one.rulings.size(); ++r) {
        EXPECT_EQ(one.rulings[r].rule, two.rulings[r].rule);
        EXPECT_EQ(one.rulings[r].message, two.rulings[r].message);
      }
    }
  }
}

}  // namespace
}  // namespace refrain::config
