#include "config/recipes/recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/knobs/knob_table.h"
#include "config/recipes/architecture.h"
#include "config/recipes/csv.h"
#include "config/recipes/supplement.h"
#include "config/recipes/tables.h"

namespace refrain::config {
namespace {

const Value kNotAssigned = "not assigned";  // a text that no table has
const Value kEmptyList = Value::array();

/// The value that counts.
Value value_of(const Recipe& recipe, std::string_view knob) {
  Value value = kNotAssigned;
  for (const Assignment& each : recipe.assignments) {
    if (each.knob == knob) value = each.value;
  }
  return value;
}

Value value_of(std::string_view id, std::string_view knob) {
  const Recipe* recipe = recipe_named(id);
  return recipe ? value_of(*recipe, knob) : "no such recipe";
}

bool has_note(std::string_view id, const std::string& note) {
  const std::vector<std::string>& notes = recipe_named(id)->notes;
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

TEST(Recipes, EveryRowOfTheTablesIsThereOnceAndInOrder) {
  std::vector<std::string> sources;
  for (const std::string_view text :
       {kBridgeRecipesText, kBridgeRecipesLibraryText, kMlmModelzooRecipesText}) {
    const CsvTable table(text);
    for (const CsvRecord& row : table.records()) sources.push_back(row["source_path"]);
  }
  ASSERT_EQ(sources.size(), 432u + 304u + 35u);
  ASSERT_EQ(recipes().size(), sources.size());
  for (size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(recipes()[i].source, sources[i]);
}

TEST(Recipes, IdsAreUniqueAndPlain) {
  std::set<std::string> ids;
  for (const Recipe& recipe : recipes()) {
    EXPECT_TRUE(ids.insert(recipe.id).second) << recipe.id;
    EXPECT_EQ(recipe.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
              std::string::npos)
        << recipe.id;
    EXPECT_EQ(recipe_named(recipe.id), &recipe);
  }
}

TEST(Recipes, TheFunctionIsTheIdAndALibraryRecipeOfTheSameNameSaysSo) {
  const Recipe* tuned = recipe_named("llama3_70b_sft_32gpu_h100_bf16_config");
  const Recipe* library = recipe_named("llama3_70b_sft_32gpu_h100_bf16_config_library");
  ASSERT_TRUE(tuned && library);
  EXPECT_NE(tuned->source.find("perf_recipes/"), std::string::npos);
  EXPECT_NE(library->source.find("bridge/recipes/"), std::string::npos);
  const auto suffixed = std::count_if(recipes().begin(), recipes().end(), [](const Recipe& each) {
    return each.id.ends_with("_library");
  });
  EXPECT_EQ(suffixed, 10);
}

TEST(Recipes, RowsWithoutAFunctionAreNamedByWhatTheyRun) {
  for (const char* id :
       {"deepseek_v3_pretrain_256gpu_b200_mxfp8_4k_tp1_pp8_balanced_moe_modelzoo",
        "deepseek_v3_pretrain_512gpu_h100_fp8_256k_tp64_pp8_moe_modelzoo",
        "mixtral_8x22b_pretrain_128gpu_bf16_4k_moe_modelzoo",
        "qwen3_30b_a3b_pretrain_32gpu_bf16_4k_tp1_pp1_balanced_full_recompute_moe_modelzoo",
        "deepseek_v3_pretrain_256gpu_gb200_fp8mx_4k_tp1_pp8_balanced_mcore_guide"}) {
    EXPECT_NE(recipe_named(id), nullptr) << id;
  }
}

TEST(Recipes, EveryAssignmentIsAKnobOfTheRightTypeOrAFieldThatMegatronHas) {
  Knobs knobs;
  for (const Recipe& recipe : recipes()) {
    for (const Assignment& each : recipe.assignments) {
      EXPECT_EQ(each.source.origin, Origin::kRecipe);
      EXPECT_TRUE(each.source.place == recipe.id || each.source.place == recipe.architecture);
      EXPECT_FALSE(each.removes);
      if (const Knob* knob = find_knob(each.knob)) {
        EXPECT_TRUE(set_value(knobs, *knob, each.value)) << recipe.id << " " << each.knob;
      } else {
        EXPECT_TRUE(bystander_dialects(each.knob).has(Dialect::kBridge)) << each.knob;
      }
    }
  }
}

TEST(Recipes, AnExpertRowReadsFieldByField) {
  const char* id = "deepseek_v3_pretrain_256gpu_b200_fp8mx_config";
  const Recipe* recipe = recipe_named(id);
  ASSERT_NE(recipe, nullptr);
  EXPECT_EQ(recipe->model, "deepseek_v3");
  EXPECT_EQ(recipe->family, "deepseek");
  EXPECT_EQ(recipe->task, "pretrain");
  EXPECT_EQ(recipe->gpu, "b200");
  EXPECT_EQ(recipe->precision, "fp8mx");
  EXPECT_EQ(recipe->num_gpus, 256);
  EXPECT_EQ(recipe->architecture, "DeepSeek V3");
  const std::map<std::string, Value> expected = {
      {"num_layers", 61},
      {"multi_latent_attention", true},
      {"num_moe_experts", 256},
      {"moe_grouped_gemm", true},
      {"hidden_dropout", 0.0},
      {"tensor_model_parallel_size", 1},
      {"pipeline_model_parallel_size", 8},
      {"virtual_pipeline_model_parallel_size", 2},
      {"context_parallel_size", 1},
      {"expert_model_parallel_size", 32},
      {"expert_tensor_parallel_size", 1},
      {"micro_batch_size", 1},
      {"global_batch_size", 4096},
      {"seq_length", 4096},
      {"recompute_granularity", "selective"},
      {"recompute_modules", Value::array({"mla_up_proj", "mlp"})},
      {"cuda_graph_impl", "transformer_engine"},
      {"cuda_graph_scope", Value::array({"attn", "moe_router", "moe_preprocess"})},
      {"bf16", true},
      {"fp8", "e4m3"},
      {"fp8_recipe", "mxfp8"},
      {"moe_token_dispatcher_type", "flex"},
      {"moe_flex_dispatcher_backend", "deepep"},
      {"overlap_moe_expert_parallel_comm", true},
      {"delay_wgrad_compute", true},
      {"mtp_num_layers", 1},
      {"moe_router_force_load_balancing", true},
      {"moe_permute_fusion", true},
      {"pipeline_model_parallel_layout", "Et*4|(t*4|)*14tmL"},
  };
  for (const auto& [knob, value] : expected) EXPECT_EQ(value_of(id, knob), value) << knob;
  for (const char* knob : {"sequence_parallel", "recompute_method", "recompute_num_layers",
                           "cpu_offloading", "fp4", "pipeline_dtype"}) {
    EXPECT_EQ(value_of(id, knob), kNotAssigned) << knob;
  }
  EXPECT_TRUE(has_note(id, "NCCL_GRAPH_REGISTER=0"));
  EXPECT_TRUE(has_note(id, "pp_layout=<list of 16>"));
  EXPECT_FALSE(has_note(id, "ep_a2a_overlap"));
}

TEST(Recipes, ADenseRowReadsFieldByField) {
  const char* id = "llama31_405b_pretrain_128gpu_b300_bf16_config";
  EXPECT_EQ(value_of(id, "num_layers"), 126);
  EXPECT_EQ(value_of(id, "tensor_model_parallel_size"), 2);
  EXPECT_EQ(value_of(id, "sequence_parallel"), true);
  EXPECT_EQ(value_of(id, "cpu_offloading"), true);
  EXPECT_EQ(value_of(id, "cpu_offloading_num_layers"), 40);
  EXPECT_EQ(value_of(id, "cpu_offloading_weights"), false);
  EXPECT_EQ(value_of(id, "account_for_loss_in_pipeline_split"), true);
  EXPECT_EQ(value_of(id, "cuda_graph_impl"), "none");
  EXPECT_EQ(value_of(id, "bf16"), true);
  for (const char* knob : {"virtual_pipeline_model_parallel_size", "expert_tensor_parallel_size",
                           "fp8", "moe_grouped_gemm", "moe_token_dispatcher_type",
                           "cuda_graph_scope", "recompute_granularity", "recompute_modules"}) {
    EXPECT_EQ(value_of(id, knob), kNotAssigned) << knob;
  }
  EXPECT_TRUE(has_note(id, "megatron_fsdp(optim_grads_params)"));
}

TEST(Recipes, FullRecomputeHasItsMethodAndLayers) {
  const char* id = "wan_14b_pretrain_8gpu_h100_bf16_config";
  EXPECT_EQ(value_of(id, "recompute_granularity"), "full");
  EXPECT_EQ(value_of(id, "recompute_method"), "uniform");
  EXPECT_EQ(value_of(id, "recompute_num_layers"), 1);
  EXPECT_EQ(value_of(id, "recompute_modules"), kNotAssigned);
  EXPECT_EQ(value_of(id, "expert_model_parallel_size"), kNotAssigned);
  EXPECT_EQ(value_of(id, "cuda_graph_impl"), kNotAssigned);
}

TEST(Recipes, AnEmptyListOfModulesIsNotAnUnsetOne) {
  EXPECT_EQ(value_of("deepseek_v3_pretrain_256gpu_gb300_fp8mx_config", "recompute_modules"),
            kEmptyList);
  EXPECT_EQ(value_of("deepseek_v3_pretrain_256gpu_gb300_fp8mx_config", "recompute_granularity"),
            "selective");
  int empty = 0, unset = 0;
  for (const Recipe& recipe : recipes()) {
    const Value modules = value_of(recipe, "recompute_modules");
    empty += modules == kEmptyList;
    unset += modules == kNotAssigned;
  }
  EXPECT_EQ(empty, 55 + 1);
  EXPECT_EQ(unset, 294 + 281 + 11);
}

TEST(Recipes, PrecisionTokensAreFormatsAndScalings) {
  const char* delayed = "qwen3_30b_a3b_pretrain_16gpu_h100_fp8ds_config";
  const char* current = "llama3_70b_sft_32gpu_h100_fp8cs_config";
  const char* blockwise = "kimi_k2_pretrain_1024gpu_h100_fp8sc_config";
  const char* fp4 = "llama3_8b_pretrain_8gpu_gb300_nvfp4_config";
  const char* zoo = "deepseek_v3_pretrain_512gpu_h100_fp8_256k_tp64_pp8_moe_modelzoo";
  for (const char* id : {delayed, current, blockwise}) {
    EXPECT_EQ(value_of(id, "fp8"), "hybrid") << id;
    EXPECT_EQ(value_of(id, "bf16"), true) << id;
    EXPECT_EQ(value_of(id, "fp4"), kNotAssigned) << id;
  }
  EXPECT_EQ(value_of(delayed, "fp8_recipe"), "delayed");
  EXPECT_EQ(value_of(current, "fp8_recipe"), "tensorwise");
  EXPECT_EQ(value_of(blockwise, "fp8_recipe"), "blockwise");
  EXPECT_EQ(value_of(zoo, "fp8_recipe"), "blockwise");
  EXPECT_EQ(value_of(zoo, "fp8"), "e4m3");
  EXPECT_EQ(value_of(fp4, "fp4"), "e2m1");
  EXPECT_EQ(value_of(fp4, "fp4_recipe"), "nvfp4");
  EXPECT_EQ(value_of(fp4, "bf16"), true);
  EXPECT_EQ(value_of(fp4, "fp8"), kNotAssigned);
  EXPECT_EQ(value_of("nemotron_3_5_lightning_pretrain_config", "bf16"), kNotAssigned);
}

TEST(Recipes, FineGrainedOffloadIsAListOfModules) {
  const char* one = "deepseek_v3_pretrain_256gpu_gb200_fp8mx_partial_cg_dev_config";
  const char* two = "deepseek_v3_pretrain_128gpu_gb300_fp8mx_hsdp_config";
  EXPECT_EQ(value_of(one, "fine_grained_activation_offloading"), true);
  EXPECT_EQ(value_of(one, "offload_modules"), Value::array({"expert_fc1"}));
  EXPECT_EQ(value_of(one, "cpu_offloading"), kNotAssigned);
  EXPECT_EQ(value_of(two, "offload_modules"), Value::array({"core_attn", "attn_proj"}));
  EXPECT_EQ(value_of(two, "fine_grained_offloading_max_inflight_offloads"), 1);
  const char* zoo = "deepseek_v3_pretrain_256gpu_gb200_mxfp8_4k_tp1_pp4_balanced_moe_modelzoo";
  EXPECT_EQ(value_of(zoo, "offload_modules"), Value::array({"expert_fc1"}));
  EXPECT_TRUE(has_note(zoo, "offload_optimizer_states"));
}

TEST(Recipes, GraphsOfAWholeIterationAreSpelledAsInTheRecipe) {
  const char* as_impl = "deepseek_v3_pretrain_256gpu_b300_fp8mx_config";
  EXPECT_EQ(value_of(as_impl, "cuda_graph_impl"), "full_iteration");
  EXPECT_EQ(value_of(as_impl, "cuda_graph_scope"), kEmptyList);
  const char* as_scope = "llama3_8b_pretrain_8gpu_gb300_nvfp4_config";
  EXPECT_EQ(value_of(as_scope, "cuda_graph_impl"), "local");
  EXPECT_EQ(value_of(as_scope, "cuda_graph_scope"), Value::array({"full_iteration"}));
  // Texts, which the table left out.
  const char* as_text = "qwen3_30b_a3b_pretrain_16gpu_gb200_fp8mx_paged_stash_dev_config";
  EXPECT_EQ(value_of(as_text, "cuda_graph_scope"), "full_iteration");
  const char* as_modules = "gpt_oss_20b_pretrain_8gpu_b300_fp8mx_config";
  EXPECT_EQ(value_of(as_modules, "cuda_graph_modules"), "full_iteration");
  EXPECT_EQ(value_of(as_modules, "cuda_graph_scope"), kNotAssigned);
}

TEST(Recipes, LocalGraphsOfMegatronBridgeAreOfAWholeIteration) {
  for (const Recipe& recipe : recipes()) {
    if (value_of(recipe, "cuda_graph_impl") != "local") continue;
    const bool whole = value_of(recipe, "cuda_graph_modules") == "full_iteration" ||
                       value_of(recipe, "cuda_graph_scope") == "full_iteration" ||
                       value_of(recipe, "cuda_graph_scope") == Value::array({"full_iteration"});
    EXPECT_TRUE(whole) << recipe.id;
  }
}

TEST(Recipes, TheModelZooHasTheFlagsOfItsScripts) {
  const char* long_context = "deepseek_v3_pretrain_512gpu_h100_fp8_256k_tp64_pp8_moe_modelzoo";
  EXPECT_EQ(value_of(long_context, "sequence_parallel"), true);
  EXPECT_EQ(value_of(long_context, "moe_flex_dispatcher_backend"), "deepep");
  EXPECT_EQ(value_of(long_context, "pipeline_model_parallel_layout"), "Et*2|(tt|)*22t|(tt|)*7mL");
  EXPECT_TRUE(has_note(long_context, "optimizer_cpu_offload"));
  const char* short_context =
      "deepseek_v3_pretrain_256gpu_b200_mxfp8_4k_tp1_pp8_balanced_moe_modelzoo";
  EXPECT_EQ(value_of(short_context, "sequence_parallel"), kNotAssigned);
  EXPECT_EQ(value_of(short_context, "moe_router_force_load_balancing"), true);
  const char* overlap = "deepseek_v3_pretrain_1024gpu_h100_fp8_4k_tp2_pp8_moe_modelzoo";
  EXPECT_EQ(value_of(overlap, "overlap_moe_expert_parallel_comm"), true);
  EXPECT_EQ(value_of(overlap, "delay_wgrad_compute"), true);
  const char* old_flag = "qwen3_235b_a22b_pretrain_256gpu_bf16_4k_tp1_pp4_balanced_moe_modelzoo";
  EXPECT_EQ(value_of(old_flag, "external_cuda_graph"), true);
  EXPECT_EQ(value_of(old_flag, "cuda_graph_impl"), kNotAssigned);
  EXPECT_EQ(value_of(old_flag, "cuda_graph_scope"), Value::array({"attn"}));
  const char* one_stage = "qwen3_30b_a3b_pretrain_32gpu_bf16_4k_tp1_pp1_balanced_moe_modelzoo";
  EXPECT_EQ(value_of(one_stage, "virtual_pipeline_model_parallel_size"), kNotAssigned);
  EXPECT_EQ(value_of(one_stage, "global_batch_size"), kNotAssigned);
  const char* from_config = "mixtral_8x22b_pretrain_128gpu_bf16_4k_moe_modelzoo";
  EXPECT_EQ(value_of(from_config, "virtual_pipeline_model_parallel_size"), 7);
  EXPECT_EQ(value_of(from_config, "moe_token_dispatcher_type"), "alltoall");
  const char* quoted =
      "kimi_k2_pretrain_128gpu_gb200_mxfp8_128k_tp16_pp2_balanced_gb200_128k_moe_modelzoo";
  EXPECT_EQ(value_of(quoted, "pipeline_model_parallel_layout"), "Et|t|(tt|)*29tL");
  EXPECT_EQ(value_of(quoted, "moe_flex_dispatcher_backend"), "hybridep");
  EXPECT_TRUE(has_note(quoted, "dispatcher=DISPATCHER"));
}

TEST(Recipes, ExpertParallelRecipesHaveExpertsThatDivide) {
  for (const Recipe& recipe : recipes()) {
    const Value ranks = value_of(recipe, "expert_model_parallel_size");
    const Value experts = value_of(recipe, "num_moe_experts");
    if (ranks != kNotAssigned && ranks > 1) {
      ASSERT_TRUE(experts.is_number_integer()) << recipe.id;
      EXPECT_EQ(experts.get<int64_t>() % ranks.get<int64_t>(), 0) << recipe.id;
    }
    if (!experts.is_number_integer()) continue;
    EXPECT_EQ(value_of(recipe, "moe_grouped_gemm"), true) << recipe.id;
    EXPECT_NE(value_of(recipe, "moe_token_dispatcher_type"), kNotAssigned) << recipe.id;
  }
}

TEST(Recipes, TheModelOfAnArchitectureIsFoundByNameByInnerModelAndByHuggingFaceId) {
  EXPECT_EQ(recipe_named("kimi_k2_pretrain_1024gpu_h100_fp8sc_config")->architecture,
            "Kimi K2 (1T-A32B)");
  EXPECT_EQ(recipe_named("glm_45v_sft_128gpu_h100_bf16_config")->architecture,
            "GLM-4.5-Air 106B-A12B");
  EXPECT_EQ(value_of("glm_45v_sft_128gpu_h100_bf16_config", "mtp_num_layers"), nullptr);
  EXPECT_EQ(recipe_named("deepseek_v4_flash_sft_openmath_thinking_packed_config")->architecture,
            "DeepSeek V4 (Flash / Pro)");
  EXPECT_EQ(recipe_named("gemma2_2b_pretrain_2gpu_h100_bf16_config")->architecture, "");
}

TEST(Recipes, EverySupplementIsUsed) {
  std::set<std::string> subjects = {"experts:bridge_recipes", "experts:bridge_recipes_library",
                                    "table:bridge_recipes", "table:bridge_recipes_library"};
  for (const Recipe& recipe : recipes()) {
    subjects.insert({"family:" + recipe.family, "model:" + recipe.model, "recipe:" + recipe.id});
  }
  for (const Architecture& each : architectures()) subjects.insert("architecture:" + each.name);
  EXPECT_EQ(supplements().size(), CsvTable(kSupplementsText).records().size());
  for (const Supplement& each : supplements()) {
    EXPECT_TRUE(subjects.contains(each.subject)) << each.subject;
  }
}

TEST(Recipes, AnUnknownIdIsAFindingWithTheNearestOrWithOnesThatContainIt) {
  const auto remedy = [](std::string_view id) {
    const Checked<Recipe> found = find_recipe(id);
    EXPECT_FALSE(found.value);
    EXPECT_EQ(found.findings.at(0).rule, "recipe.unknown");
    return found.findings.at(0).remedy;
  };
  const auto names = [&](std::string_view id, std::string_view candidate) {
    return remedy(id).find(candidate) != std::string::npos;
  };
  const char* nearest = "llama3_8b_pretrain_8gpu_gb300_nvfp4_config?";
  EXPECT_TRUE(names("lama3_8b_pretrain_8gpu_gb300_nvfp4_config", nearest));
  EXPECT_TRUE(names("llama3_8b_pretrain_8gpu_gb300_nvfp4", nearest));
  EXPECT_TRUE(names("llama3_8b", "that contain it"));
  EXPECT_TRUE(names("", "such as"));
  EXPECT_TRUE(names(std::string(1 << 20, 'x'), "such as"));
  const Checked<Recipe> known = find_recipe("LLAMA3_8B_pretrain_8gpu_gb300_nvfp4_config");
  ASSERT_TRUE(known.value);
  EXPECT_TRUE(known.findings.empty());
  EXPECT_EQ(known.value->model, "llama3_8b");
}

TEST(Recipes, FilterWantsEveryWordInAnyOfTheFields) {
  EXPECT_EQ(filter_recipes({}).size(), recipes().size());
  const auto found = filter_recipes({"DeepSeek", "h100", "fp8sc"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]->id, "deepseek_v3_pretrain_1024gpu_h100_fp8sc_config");
  EXPECT_EQ(filter_recipes({"moe-modelzoo"}).size(), 34u);
  EXPECT_TRUE(filter_recipes({"deepseek", "no such word"}).empty());
}

}  // namespace
}  // namespace refrain::config
