#include "config/inputs/hugging_face/model_knobs.h"

#include <gtest/gtest.h>

#include "config/hugging_face/model_types.h"
#include "config/inputs/testing/outcome.h"
#include "config/inputs/testing/random_pieces.h"
#include "config/inputs/testing/temp_file.h"

namespace refrain::config {
namespace {

/// A small model of a type, with what every type needs.
Value model(const std::string& type) {
  return {{"model_type", type},       {"num_hidden_layers", 4},   {"hidden_size", 64},
          {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"intermediate_size", 96},
          {"vocab_size", 1000}};
}

Value with_experts(const std::string& type) {
  const HfExperts& experts = find_hf_type(type)->experts;
  Value file = model(type);
  file.update({{std::string(experts.count), 8}, {"num_experts_per_tok", 2}});
  if (experts.width == "moe_intermediate_size") file["moe_intermediate_size"] = 32;
  return file;
}

Value deepseek(const std::string& type) {
  Value file = with_experts(type);
  file.update(
      {{"kv_lora_rank", 16}, {"qk_nope_head_dim", 8}, {"qk_rope_head_dim", 4}, {"v_head_dim", 8}});
  return file;
}

Value with(Value file, const std::string& field, Value value) {
  file[field] = std::move(value);
  return file;
}

Value without(Value file, const std::string& field) {
  file.erase(field);
  return file;
}

std::string rules(const Value& file) {
  const auto read = model_knobs(file, "f");
  EXPECT_EQ(read.value.has_value(), !rejects(read.findings));
  return rules_of(read.findings);
}

/// The value that counts; "not set" where there is none.
Value knob(const Value& file, std::string_view name) {
  const auto read = model_knobs(file, "f");
  EXPECT_TRUE(read.value) << to_text(read.findings);
  Value value = "not set";
  for (const Assignment& each : read.value.value_or(Assignments{})) {
    if (each.knob == name) value = each.value;
  }
  return value;
}

TEST(ModelKnobs, ADenseModelIsReadFieldByField) {
  EXPECT_EQ(outcome(model_knobs(model("llama"), "f")),
            "num_layers=4 hidden_size=64 ffn_hidden_size=96 num_attention_heads=4 "
            "normalization=RMSNorm layernorm_epsilon=1e-06 qk_layernorm=false "
            "activation_func=silu gated_linear_unit=true add_bias_linear=false add_qkv_bias=false "
            "rotary_base=10000.0 rotary_percent=1.0 num_query_groups=2 kv_channels=16 "
            "attention_dropout=0.0 hidden_dropout=0.0");
}

TEST(ModelKnobs, GptTwoHasItsOwnFieldsAndDropout) {
  const Value gpt2 = {{"model_type", "gpt2"}, {"n_layer", 2}, {"n_embd", 64},
                      {"n_head", 4},          {"n_ctx", 8},   {"vocab_size", 100}};
  EXPECT_EQ(outcome(model_knobs(gpt2, "f")),
            "num_layers=2 hidden_size=64 ffn_hidden_size=256 num_attention_heads=4 "
            "normalization=LayerNorm layernorm_epsilon=1e-05 qk_layernorm=false "
            "activation_func=gelu gated_linear_unit=false add_bias_linear=true add_qkv_bias=true "
            "num_query_groups=4 kv_channels=16 attention_dropout=0.1 hidden_dropout=0.1");
  EXPECT_EQ(knob(with(gpt2, "resid_pdrop", 0), "hidden_dropout"), 0.0);
}

TEST(ModelKnobs, ScaledPositionsWindowsAndQuantizedWeightsAreNoHindrance) {
  Value file = with(model("llama"), "rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}});
  file["quantization_config"] = {{"bits", 4}};
  EXPECT_EQ(rules(file), "");
  EXPECT_EQ(rules(with(model("mistral"), "sliding_window", 4096)), "");
}

TEST(ModelKnobs, ExpertsAreReadFieldByField) {
  const Value mixtral = with_experts("mixtral");
  EXPECT_EQ(knob(mixtral, "num_moe_experts"), 8);
  EXPECT_EQ(knob(mixtral, "moe_router_topk"), 2);
  EXPECT_EQ(knob(mixtral, "moe_ffn_hidden_size"), 96);  // intermediate_size is an expert's
  EXPECT_EQ(knob(mixtral, "moe_layer_freq"), 1);
  EXPECT_EQ(knob(mixtral, "moe_router_score_function"), "softmax");
  EXPECT_EQ(knob(mixtral, "moe_router_pre_softmax"), false);
  EXPECT_EQ(knob(mixtral, "moe_router_enable_expert_bias"), false);
  EXPECT_EQ(knob(mixtral, "moe_shared_expert_intermediate_size"), "not set");
  EXPECT_EQ(knob(mixtral, "moe_input_jitter_eps"), "not set");
  EXPECT_EQ(knob(with(mixtral, "router_jitter_noise", 0.1), "moe_input_jitter_eps"), 0.1);
  EXPECT_EQ(knob(model("llama"), "num_moe_experts"), "not set");
}

TEST(ModelKnobs, TheNumberOfExpertsIsReadUnderAnotherTypesNameToo) {
  Value file = without(with_experts("qwen3_moe"), "num_experts");
  EXPECT_EQ(rules(file), "model.missing-field");
  file["num_local_experts"] = 16;
  EXPECT_EQ(knob(file, "num_moe_experts"), 16);
}

TEST(ModelKnobs, SharedExpertsAreAWidthOrANumber) {
  const std::string shared = "moe_shared_expert_intermediate_size";
  const Value qwen = with_experts("qwen2_moe");
  EXPECT_EQ(knob(with(qwen, "shared_expert_intermediate_size", 48), shared), 48);
  EXPECT_EQ(knob(with(qwen, "shared_expert_intermediate_size", 0), shared), "not set");
  EXPECT_EQ(knob(qwen, shared), "not set");
  EXPECT_EQ(knob(with(deepseek("deepseek_v3"), "n_shared_experts", 3), shared), 96);
  EXPECT_EQ(knob(with(deepseek("deepseek_v3"), "n_shared_experts", nullptr), shared), "not set");
}

TEST(ModelKnobs, LayersWithExpertsAreARhythmOnlyWhereAllHaveThem) {
  const Value qwen = with_experts("qwen3_moe");
  EXPECT_EQ(knob(qwen, "moe_layer_freq"), 1);
  // Every second layer from the second on; Megatron's own rhythm of 2 begins with the first.
  EXPECT_EQ(knob(with(qwen, "decoder_sparse_step", 2), "moe_layer_freq"), Value({0, 1, 0, 1}));
  EXPECT_EQ(knob(with(qwen, "mlp_only_layers", {0, 3, 99}), "moe_layer_freq"), Value({0, 1, 1, 0}));
  const Value v3 = deepseek("deepseek_v3");
  EXPECT_EQ(knob(v3, "moe_layer_freq"), 1);
  EXPECT_EQ(knob(with(v3, "first_k_dense_replace", 1), "moe_layer_freq"), Value({0, 1, 1, 1}));
  EXPECT_EQ(knob(with(v3, "first_k_dense_replace", 9), "moe_layer_freq"), Value({0, 0, 0, 0}));
  EXPECT_EQ(knob(with(v3, "moe_layer_freq", 2), "moe_layer_freq"), Value({1, 0, 1, 0}));
}

TEST(ModelKnobs, TheRouterFollowsTypeAndFields) {
  const Value v3 = deepseek("deepseek_v3");
  EXPECT_EQ(knob(v3, "moe_router_score_function"), "sigmoid");
  EXPECT_EQ(knob(v3, "moe_router_enable_expert_bias"), true);
  EXPECT_EQ(knob(v3, "moe_router_pre_softmax"), false);
  EXPECT_EQ(knob(with(v3, "topk_method", "greedy"), "moe_router_enable_expert_bias"), false);
  EXPECT_EQ(rules(with(v3, "scoring_func", "relu")), "model.unsupported-field");
  EXPECT_EQ(knob(deepseek("deepseek_v2"), "moe_router_pre_softmax"), true);
  const Value qwen = with_experts("qwen2_moe");
  EXPECT_EQ(knob(qwen, "moe_router_pre_softmax"), true);
  EXPECT_EQ(knob(with(qwen, "norm_topk_prob", true), "moe_router_pre_softmax"), false);
}

TEST(ModelKnobs, LatentAttentionHasNoGroupsAndMayHaveNoQueryLatent) {
  const Value v2 = deepseek("deepseek_v2");
  EXPECT_EQ(knob(v2, "multi_latent_attention"), true);
  EXPECT_EQ(knob(v2, "kv_lora_rank"), 16);
  EXPECT_EQ(knob(v2, "qk_head_dim"), 8);
  EXPECT_EQ(knob(v2, "qk_pos_emb_head_dim"), 4);
  EXPECT_EQ(knob(v2, "v_head_dim"), 8);
  EXPECT_EQ(knob(v2, "num_query_groups"), "not set");
  EXPECT_EQ(knob(v2, "kv_channels"), "not set");
  EXPECT_EQ(knob(v2, "q_lora_rank"), 1536);  // the class's default
  EXPECT_EQ(knob(with(v2, "q_lora_rank", nullptr), "q_lora_rank"), nullptr);
  EXPECT_EQ(knob(with(v2, "q_lora_rank", 24), "q_lora_rank"), 24);
  EXPECT_EQ(knob(v2, "rope_type"), "rope");
  EXPECT_EQ(knob(with(v2, "rope_scaling", {{"type", "yarn"}}), "rope_type"), "yarn");
  EXPECT_EQ(knob(model("llama"), "rope_type"), "not set");
}

TEST(ModelKnobs, PredictionLayersAreSetWhereThereAreAny) {
  const Value v3 = deepseek("deepseek_v3");
  EXPECT_EQ(knob(v3, "mtp_num_layers"), "not set");
  EXPECT_EQ(knob(with(v3, "num_nextn_predict_layers", 0), "mtp_num_layers"), "not set");
  EXPECT_EQ(knob(with(v3, "num_nextn_predict_layers", 2), "mtp_num_layers"), 2);
}

TEST(ModelKnobs, LinearAttentionIsARhythmOrAList) {
  const Value next = with_experts("qwen3_next");
  const std::string frequency = "linear_attention_freq";
  EXPECT_EQ(knob(next, "experimental_attention_variant"), "gated_delta_net");
  EXPECT_EQ(knob(next, "attention_output_gate"), true);
  EXPECT_EQ(knob(next, "linear_num_value_heads"), 32);
  EXPECT_EQ(knob(next, "kv_channels"), 256);
  EXPECT_EQ(knob(next, "rotary_percent"), 0.25);
  EXPECT_EQ(knob(next, frequency), 4);
  EXPECT_EQ(knob(with(next, "full_attention_interval", 2), frequency), 2);
  const Value linear = "linear_attention", full = "full_attention";
  EXPECT_EQ(knob(with(next, "layer_types", {linear, full, linear, full}), frequency), 2);
  EXPECT_EQ(knob(with(next, "layer_types", {linear, linear, linear, full}), frequency), 4);
  EXPECT_EQ(knob(with(next, "layer_types", {full, linear, linear, full}), frequency),
            Value({0, 1, 1, 0}));
  EXPECT_EQ(knob(with(next, "layer_types", {linear, linear, linear, linear}), frequency),
            Value({1, 1, 1, 1}));
  EXPECT_EQ(rules(with(next, "layer_types", {linear, full})), "model.one-kind-a-layer");
  EXPECT_EQ(rules(with(next, "layer_types", {"mamba", full, full, full})),
            "model.unsupported-field");
  EXPECT_EQ(rules(with(next, "layer_types", 3)), "model.wrong-type");
}

TEST(ModelKnobs, BiasesFollowTypeAndFields) {
  EXPECT_EQ(knob(model("qwen2"), "add_qkv_bias"), true);
  EXPECT_EQ(knob(with_experts("qwen2_moe"), "add_qkv_bias"), true);
  EXPECT_EQ(knob(with(with_experts("qwen2_moe"), "qkv_bias", false), "add_qkv_bias"), false);
  const Value glm = with_experts("glm4_moe");
  EXPECT_EQ(knob(glm, "add_qkv_bias"), false);
  EXPECT_EQ(knob(with(glm, "attention_bias", true), "add_qkv_bias"), true);
  EXPECT_EQ(rules(with(glm, "attention_bias", true)), "");
  EXPECT_EQ(knob(with(glm, "use_qk_norm", true), "qk_layernorm"), true);
  EXPECT_EQ(knob(glm, "qk_layernorm"), false);
  const Value oss = with_experts("gpt_oss");
  EXPECT_EQ(knob(oss, "add_bias_linear"), true);
  EXPECT_EQ(knob(oss, "activation_func"), "quick_gelu");
  const Value both = with(with(model("llama"), "attention_bias", true), "mlp_bias", true);
  EXPECT_EQ(knob(both, "add_bias_linear"), true);
  EXPECT_EQ(rules(both), "");
  const Value part = with(model("llama"), "attention_bias", true);
  EXPECT_EQ(rules(part), "model.bias-in-part");
  EXPECT_EQ(knob(part, "add_bias_linear"), false);
}

TEST(ModelKnobs, AnUnknownTypeGetsTheNearest) {
  const auto read = model_knobs(model("qwen3_vl_moe"), "f");
  ASSERT_EQ(outcome(read), "!model.unsupported-type");
  EXPECT_NE(read.findings[0].message.find("'qwen3_vl_moe'"), std::string::npos);
  EXPECT_NE(read.findings[0].remedy.find("qwen3_moe"), std::string::npos);
  EXPECT_EQ(rules(without(model("llama"), "model_type")), "model.unsupported-type");
  EXPECT_EQ(rules(model(std::string(1 << 20, 'x'))), "model.unsupported-type");
}

TEST(ModelKnobs, EveryTypeIsRead) {
  for (const HfType& type : hf_types()) {
    if (type.name == "gpt2") continue;  // has fields of its own
    const std::string name(type.name);
    const bool latent = type.attention == HfAttention::kLatent;
    const Value file = latent                       ? deepseek(name)
                       : type.experts.count.empty() ? model(name)
                                                    : with_experts(name);
    EXPECT_EQ(rules(file), "") << name;
  }
}

TEST(ModelKnobs, WhatIsWrongWithAFieldIsAFindingThatNamesFieldAndValue) {
  const struct {
    const char* field;
    Value value;
    const char* rule;
    const char* shown;
  } rows[] = {
      {"n_routed_experts", -1, "model.size-out-of-range", "n_routed_experts must be from 1"},
      {"n_routed_experts", INT64_MAX, "model.size-out-of-range", "9223372036854775807"},
      {"n_routed_experts", "256", "model.wrong-type", "'256'"},
      {"n_routed_experts", 2.5, "model.wrong-type", "2.5"},
      {"n_routed_experts", nullptr, "model.missing-field", "n_routed_experts must be there"},
      {"num_experts_per_tok", 0, "model.size-out-of-range", "num_experts_per_tok"},
      {"moe_intermediate_size", Value::array(), "model.wrong-type", "a list"},
      {"n_shared_experts", -1, "model.size-out-of-range", "n_shared_experts must be from 0"},
      {"first_k_dense_replace", -3, "model.size-out-of-range", "-3"},
      {"moe_layer_freq", 0, "model.size-out-of-range", "moe_layer_freq must be from 1"},
      {"kv_lora_rank", true, "model.wrong-type", "true"},
      {"q_lora_rank", -5, "model.size-out-of-range", "-5"},
      {"v_head_dim", UINT64_MAX, "model.size-out-of-range", "18446744073709551615"},
      {"qk_rope_head_dim", 3, "model.rope-needs-even-head-dim", "3"},
      {"num_nextn_predict_layers", -1, "model.size-out-of-range", "-1"},
      {"num_hidden_layers", 2'000'000'000, "model.size-out-of-range", "2000000000"},
      {"norm_topk_prob", 1, "model.wrong-type", "norm_topk_prob"},
      {"scoring_func", 1, "model.wrong-type", "scoring_func"},
      {"rms_norm_eps", 0, "model.norm-eps", "0"},
      {"rope_theta", -1, "model.rope-base", "-1"},
      {"attention_dropout", 1.5, "model.fraction-out-of-range", "1.5"},
      {"attention_dropout", -0.1, "model.fraction-out-of-range", "-0.1"},
      {"hidden_act", "gelu", "model.unsupported-field", "'gelu'"},
      {"rope_scaling", "yarn", "model.wrong-type", "'yarn'"},
  };
  for (const auto& row : rows) {
    const auto read = model_knobs(with(deepseek("deepseek_v3"), row.field, row.value), "f");
    ASSERT_EQ(outcome(read), std::string("!") + row.rule) << row.field << " " << row.value;
    EXPECT_NE(read.findings[0].message.find(row.shown), std::string::npos)
        << read.findings[0].message;
  }
  EXPECT_EQ(rules(with(with_experts("qwen3_moe"), "mlp_only_layers", {1, "x"})),
            "model.wrong-type");
}

TEST(ModelKnobs, AllFindingsOfAFileAreToldAtOnce) {
  const auto read = model_knobs({{"model_type", "deepseek_v3"}}, "f");
  ASSERT_FALSE(read.value);
  EXPECT_EQ(read.findings.size(), 12u) << to_text(read.findings);
}

TEST(ModelKnobs, WhatIsNotReadIsNoted) {
  EXPECT_EQ(rules(with(model("llama"), "brand_new_feature", 3)), "model.unread-field");
  EXPECT_EQ(rules(with(model("llama"), "brand_new_feature", false)), "");
}

TEST(ReadModelKnobs, AFileIsReadOrRefused) {
  const TempFile file("model.json", model("llama").dump());
  const auto read = read_model_knobs(file.path());
  ASSERT_TRUE(read.value) << to_text(read.findings);
  EXPECT_EQ(read.value->at(0).source, (Source{Origin::kFile, file.path()}));
  EXPECT_EQ(outcome(read_model_knobs(file.path() + ".not_there")), "!model.no-such-file");
  const TempFile broken("broken.json", "{");
  EXPECT_EQ(outcome(read_model_knobs(broken.path())), "!model.broken-json");
}

TEST(IsModelFile, NamesItsTypeAndWhatGoesWithIt) {
  EXPECT_TRUE(is_model_file(model("llama")));
  EXPECT_TRUE(is_model_file({{"model_type", "gpt2"}, {"architectures", {"GPT2LMHeadModel"}}}));
  EXPECT_FALSE(is_model_file({{"model_type", "gpt"}, {"num_layers", 4}}));
  EXPECT_FALSE(is_model_file({{"num_hidden_layers", 4}}));
  EXPECT_FALSE(is_model_file(Value::array({"model_type", "architectures"})));
}

// Real fields with values of any kind: each file is knobs, or findings.
TEST(ModelKnobs, RandomFilesAreReadOrRefused) {
  RandomPieces random(
      3, {"null", "true", "0", "-1", "3", "9223372036854775807", "18446744073709551615", "1e300",
          "0.5", "\"gelu\"", "\"\"", "[1,\"x\"]", "{\"a\":1}", "[]", "10001"});
  int num_accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    Value file = round % 2 == 0 ? deepseek("deepseek_v3") : with_experts("qwen3_next");
    file["layer_types"] = nullptr;
    file["rope_scaling"] = nullptr;
    for (size_t n = random.below(3); n > 0; --n) {
      auto field = file.begin();
      std::advance(field, static_cast<long>(random.below(file.size())));
      *field = Value::parse(random.piece());
    }
    const auto read = model_knobs(file, "f");
    ASSERT_EQ(read.value.has_value(), !rejects(read.findings)) << file;
    num_accepted += read.value ? 1 : 0;
  }
  EXPECT_GT(num_accepted, 1000);
}

}  // namespace
}  // namespace refrain::config
