#include "config/recipes/architecture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "config/knobs/knob_table.h"
#include "config/recipes/csv.h"
#include "config/recipes/tables.h"

namespace refrain::config {
namespace {

/// The value that counts; a text no table has where the knob is not assigned.
Value value_in(const Assignments& assignments, std::string_view knob) {
  Value value = "not assigned";
  for (const Assignment& each : assignments) {
    if (each.knob == knob) value = each.value;
  }
  return value;
}

Value value_in(std::string_view architecture, std::string_view knob) {
  const Architecture* found = architecture_named(architecture);
  return found ? value_in(found->assignments, knob) : "no such architecture";
}

const Value kUnassigned = "not assigned";

TEST(Architecture, EveryRowOfTheTableIsThereOnce) {
  EXPECT_EQ(architectures().size(), 73u);
  EXPECT_EQ(architectures().size(), CsvTable(kModelArchText).records().size());
  for (const Architecture& each : architectures()) {
    EXPECT_EQ(architecture_named(each.name), &each) << each.name;
    EXPECT_FALSE(each.source.empty()) << each.name;
    EXPECT_FALSE(each.assignments.empty()) << each.name;
  }
}

TEST(Architecture, EveryAssignmentIsAKnobOfTheRightTypeOrAFieldThatMegatronHas) {
  Knobs knobs;
  for (const Architecture& architecture : architectures()) {
    for (const Assignment& each : architecture.assignments) {
      EXPECT_EQ(each.source, (Source{Origin::kRecipe, architecture.name}));
      if (const Knob* knob = find_knob(each.knob)) {
        EXPECT_TRUE(set_value(knobs, *knob, each.value)) << architecture.name << " " << each.knob;
      } else {
        EXPECT_TRUE(bystander_dialects(each.knob).has(Dialect::kBridge)) << each.knob;
      }
    }
  }
}

TEST(Architecture, ADenseRowReadsFieldByField) {
  EXPECT_EQ(value_in("llama3_70b", "num_layers"), 80);
  EXPECT_EQ(value_in("llama3_70b", "hidden_size"), 8192);
  EXPECT_EQ(value_in("llama3_70b", "ffn_hidden_size"), 28672);
  EXPECT_EQ(value_in("llama3_70b", "num_attention_heads"), 64);
  EXPECT_EQ(value_in("llama3_70b", "num_query_groups"), 8);
  EXPECT_EQ(value_in("llama3_70b", "kv_channels"), 128);
  EXPECT_EQ(value_in("llama3_70b", "normalization"), "RMSNorm");
  EXPECT_EQ(value_in("llama3_70b", "activation_func"), "silu");
  EXPECT_EQ(value_in("llama3_70b", "gated_linear_unit"), true);
  EXPECT_EQ(value_in("llama3_70b", "add_bias_linear"), false);
  EXPECT_EQ(value_in("llama3_70b", "multi_latent_attention"), kUnassigned);
  EXPECT_EQ(value_in("llama3_70b", "num_moe_experts"), kUnassigned);
  const std::vector<std::string>& notes = architecture_named("llama3_70b")->notes;
  EXPECT_NE(std::find(notes.begin(), notes.end(), "vocab_size=128256"), notes.end());
}

TEST(Architecture, ALatentAttentionRowWithExpertsReadsFieldByField) {
  EXPECT_EQ(value_in("deepseek_v3", "num_layers"), 61);
  EXPECT_EQ(value_in("deepseek_v3", "multi_latent_attention"), true);
  EXPECT_EQ(value_in("deepseek_v3", "q_lora_rank"), 1536);
  EXPECT_EQ(value_in("deepseek_v3", "kv_lora_rank"), 512);
  EXPECT_EQ(value_in("deepseek_v3", "num_query_groups"), kUnassigned);
  EXPECT_EQ(value_in("deepseek_v3", "num_moe_experts"), 256);
  EXPECT_EQ(value_in("deepseek_v3", "moe_router_topk"), 8);
  EXPECT_EQ(value_in("deepseek_v3", "moe_ffn_hidden_size"), 2048);
  EXPECT_EQ(value_in("deepseek_v3", "moe_shared_expert_intermediate_size"), 2048);
  EXPECT_EQ(value_in("deepseek_v3", "mtp_num_layers"), 1);
}

TEST(Architecture, NoQueryLatentIsNullAndAnUnstatedOneIsUnset) {
  EXPECT_EQ(value_in("deepseek_v2_lite", "q_lora_rank"), nullptr);
  EXPECT_EQ(value_in("glm51", "q_lora_rank"), kUnassigned);
  EXPECT_EQ(value_in("glm51", "multi_latent_attention"), true);
}

TEST(Architecture, LayerFrequencyIsANumberOrAFlagForEachLayer) {
  EXPECT_EQ(value_in("qwen3_30b_a3b", "moe_layer_freq"), 1);
  EXPECT_EQ(value_in("llama3_8b", "moe_layer_freq"), kUnassigned);
  // The second is made of first_k_dense and num_layers.
  for (const auto& [name, dense, layers] :
       {std::tuple{"deepseek_v3", 3, 61}, {"glm52", 3, 78}, {"moonlight_16b", 1, 27}}) {
    const Value flags = value_in(name, "moe_layer_freq");
    ASSERT_TRUE(flags.is_array()) << name;
    ASSERT_EQ(flags.size(), static_cast<size_t>(layers)) << name;
    EXPECT_EQ(std::count(flags.begin(), flags.end(), Value(1)), layers - dense) << name;
    EXPECT_EQ(flags[static_cast<size_t>(dense) - 1], 0) << name;
    EXPECT_EQ(flags[static_cast<size_t>(dense)], 1) << name;
  }
}

TEST(Architecture, AttentionThatIsNotSoftmaxInEveryLayerIsNamed) {
  EXPECT_EQ(value_in("qwen3_next_80b_a3b", "experimental_attention_variant"), "gated_delta_net");
  EXPECT_EQ(value_in("qwen3_next_80b_a3b", "linear_attention_freq"), 4);
  EXPECT_EQ(value_in("glm52", "experimental_attention_variant"), "dsa");
  EXPECT_EQ(value_in("deepseek_v4_flash", "enable_mhc_connections"), true);
  EXPECT_EQ(value_in("deepseek_v3", "experimental_attention_variant"), kUnassigned);
  EXPECT_EQ(value_in("nemotronh_8b", "is_hybrid_model"), true);
}

TEST(Architecture, WhatMegatronHasNoFieldForStandsBesideTheKnobs) {
  const BesideKnobs& llama = architecture_named("llama32_1b")->beside_knobs;
  EXPECT_EQ(llama.vocab_size, 128256);
  EXPECT_EQ(llama.vocab_divisible_by, 128);
  EXPECT_EQ(llama.tied_embeddings, true);
  EXPECT_EQ(llama.position_embedding, "rope");
  EXPECT_EQ(llama.attention_kind, "GQA");
  EXPECT_EQ(llama.hybrid_pattern, "");
  EXPECT_EQ(architecture_named("llama3_70b")->beside_knobs.tied_embeddings, false);
  const BesideKnobs& lightning = architecture_named("Nemotron 3.5 Lightning")->beside_knobs;
  EXPECT_EQ(lightning.vocab_size, std::nullopt);
  EXPECT_TRUE(lightning.hybrid_pattern.ends_with("EMEMEMEME/*E/*E"));
  EXPECT_EQ(architecture_named("deepseek_v4_flash")->beside_knobs.tied_embeddings, std::nullopt);
}

TEST(Architecture, SupplementsOfTheArchitectureAreAssigned) {
  EXPECT_EQ(value_in("qwen35_vl_27b", "linear_num_value_heads"), 48);
  EXPECT_EQ(value_in("qwen3_next_80b_a3b", "linear_num_value_heads"), kUnassigned);
}

TEST(Architecture, IsFoundByNameRecipeNameAndHuggingFaceId) {
  const Architecture* kimi = architecture_named("kimi_k2");
  ASSERT_NE(kimi, nullptr);
  EXPECT_EQ(kimi->name, "Kimi K2 (1T-A32B)");
  for (const char* name : {"Kimi K2 (1T-A32B)", "Kimi-K2", "moonshotai/Kimi-K2-Base", "KIMI_K2"}) {
    EXPECT_EQ(architecture_named(name), kimi) << name;
  }
  EXPECT_EQ(architecture_named("zai-org/GLM-5.1"), architecture_named("glm52"));
  EXPECT_EQ(architecture_named("qwen35_vl_27b")->name, "Qwen3.5 27B");
}

TEST(Architecture, AnUnknownNameIsAFindingThatNamesTheNearest) {
  const Checked<Architecture> misspelt = find_architecture("lama3_70b");
  ASSERT_FALSE(misspelt.value);
  ASSERT_EQ(misspelt.findings.size(), 1u);
  EXPECT_EQ(misspelt.findings[0].rule, "architecture.unknown");
  EXPECT_NE(misspelt.findings[0].remedy.find("llama3_70b?"), std::string::npos);
  EXPECT_EQ(find_architecture("LLAMA3-70C").findings.at(0).remedy, "did you mean llama3_70b?");
  ASSERT_TRUE(find_architecture("llama3_70b").value);
  for (const std::string& name : {std::string(), std::string("--"), std::string(1 << 20, 'a')}) {
    ASSERT_EQ(find_architecture(name).findings.size(), 1u);
    EXPECT_EQ(find_architecture(name).findings[0].rule, "architecture.unknown");
  }
}

}  // namespace
}  // namespace refrain::config
