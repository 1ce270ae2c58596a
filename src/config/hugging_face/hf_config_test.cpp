#include "config/hugging_face/hf_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace refrain::config {
namespace {

using nlohmann::json;

json llama() {
  return {{"model_type", "llama"},           {"architectures", {"LlamaForCausalLM"}},
          {"num_hidden_layers", 2},          {"hidden_size", 64},
          {"num_attention_heads", 4},        {"num_key_value_heads", 2},
          {"intermediate_size", 96},         {"vocab_size", 1000},
          {"max_position_embeddings", 4096}, {"rms_norm_eps", 1e-5},
          {"rope_theta", 500000.0},          {"hidden_act", "silu"},
          {"tie_word_embeddings", false},    {"attention_bias", false},
          {"rope_scaling", nullptr},         {"torch_dtype", "bfloat16"}};
}

json of_type(const std::string& type) {
  json file = llama();
  file["model_type"] = type;
  return file;
}

json gpt2() {
  return {{"model_type", "gpt2"}, {"n_layer", 2},
          {"n_embd", 64},         {"n_head", 4},
          {"n_ctx", 1024},        {"n_positions", 1024},
          {"vocab_size", 50257},  {"layer_norm_epsilon", 1e-5}};
}

json with(json file, const std::string& field, json value) {
  file[field] = std::move(value);
  return file;
}

json without(json file, const std::string& field) {
  file.erase(field);
  return file;
}

Checked<ModelConfig> read(const json& file) { return parse_hf_config(file.dump(), "file"); }

ModelConfig accepted(const json& file) {
  const auto checked = read(file);
  EXPECT_TRUE(checked.value) << to_text(checked.findings);
  return checked.value.value_or(ModelConfig{});
}

/// The rules a file breaks or is noted for, in order, once each.
std::string rules_of(const json& file) {
  const auto checked = read(file);
  EXPECT_EQ(checked.value.has_value(), !rejects(checked.findings));
  std::string rules;
  for (const Finding& finding : checked.findings) {
    if (rules.find(finding.rule) == std::string::npos) {
      rules += (rules.empty() ? "" : " ") + finding.rule;
    }
  }
  return rules;
}

TEST(HfConfig, LlamaIsReadFieldByField) {
  const ModelConfig model = accepted(llama());
  ModelConfig expected;
  expected.name = "file";
  expected.num_layers = 2;
  expected.hidden = 64;
  expected.num_heads = 4;
  expected.num_kv_heads = 2;
  expected.head_dim = 16;
  expected.ffn_hidden = 96;
  expected.vocab = 1000;
  expected.max_positions = 4096;
  expected.norm_eps = 1e-5;
  expected.rope_base = 500000;
  EXPECT_EQ(model, expected);
  EXPECT_EQ(rules_of(llama()), "");
}

TEST(HfConfig, Gpt2IsReadFieldByField) {
  const ModelConfig model = accepted(gpt2());
  ModelConfig expected;
  expected.name = "file";
  expected.num_layers = 2;
  expected.hidden = 64;
  expected.num_heads = 4;
  expected.num_kv_heads = 4;
  expected.head_dim = 16;
  expected.ffn_hidden = 256;
  expected.vocab = 50257;
  expected.max_positions = 1024;
  expected.norm = NormKind::kLayerNorm;
  expected.position = PositionKind::kLearned;
  expected.activation = ActivationKind::kGeluTanh;
  expected.qkv_bias = true;
  expected.linear_bias = true;
  expected.tied_embeddings = true;
  EXPECT_EQ(model, expected);
  EXPECT_EQ(rules_of(gpt2()), "");
}

TEST(HfConfig, AbsentFieldsHaveTheDefaultsOfTheirClass) {
  const auto kv_heads = [](const std::string& type) {
    json file = with(without(of_type(type), "num_key_value_heads"), "num_attention_heads", 32);
    return accepted(with(file, "sliding_window", nullptr)).num_kv_heads;
  };
  EXPECT_EQ(kv_heads("llama"), 32);
  EXPECT_EQ(kv_heads("mistral"), 8);
  EXPECT_EQ(kv_heads("qwen2"), 32);
  EXPECT_EQ(accepted(with(of_type("mistral"), "num_key_value_heads", nullptr)).num_kv_heads, 4);

  EXPECT_EQ(accepted(with(llama(), "head_dim", 32)).head_dim, 32);
  EXPECT_EQ(accepted(with(llama(), "head_dim", nullptr)).head_dim, 16);
  EXPECT_EQ(accepted(of_type("qwen3")).head_dim, 128);
  EXPECT_EQ(accepted(with(of_type("qwen3"), "head_dim", nullptr)).head_dim, 16);

  EXPECT_EQ(accepted(without(llama(), "max_position_embeddings")).max_positions, 2048);
  EXPECT_EQ(accepted(without(of_type("qwen2"), "max_position_embeddings")).max_positions, 32768);
  EXPECT_EQ(accepted(without(llama(), "rms_norm_eps")).norm_eps, 1e-6);
  EXPECT_EQ(accepted(without(llama(), "rope_theta")).rope_base, 10000);
  EXPECT_EQ(accepted(without(llama(), "hidden_act")).activation, ActivationKind::kSwiglu);
  EXPECT_FALSE(accepted(without(llama(), "tie_word_embeddings")).tied_embeddings);
  EXPECT_TRUE(accepted(with(llama(), "tie_word_embeddings", true)).tied_embeddings);
  EXPECT_FALSE(accepted(with(gpt2(), "tie_word_embeddings", false)).tied_embeddings);
  EXPECT_EQ(accepted(with(gpt2(), "n_inner", nullptr)).ffn_hidden, 256);
  EXPECT_EQ(accepted(with(gpt2(), "n_inner", 100)).ffn_hidden, 100);
}

TEST(HfConfig, BiasesAndNormsFollowTheType) {
  EXPECT_TRUE(accepted(of_type("qwen2")).qkv_bias);
  EXPECT_FALSE(accepted(of_type("qwen2")).linear_bias);
  EXPECT_TRUE(accepted(of_type("qwen3")).qk_norm);
  EXPECT_FALSE(accepted(of_type("qwen3")).qkv_bias);
  const ModelConfig biased =
      accepted(with(with(llama(), "attention_bias", true), "mlp_bias", true));
  EXPECT_TRUE(biased.qkv_bias);
  EXPECT_TRUE(biased.linear_bias);
  // One without the other has no place in a ModelConfig.
  EXPECT_EQ(rules_of(with(llama(), "attention_bias", true)), "model.unsupported-field");
  EXPECT_EQ(rules_of(with(llama(), "mlp_bias", true)), "model.unsupported-field");
  EXPECT_EQ(rules_of(with(of_type("qwen3"), "attention_bias", true)), "model.unsupported-field");
}

TEST(HfConfig, ActivationsOtherThanOursAreFindings) {
  EXPECT_EQ(rules_of(with(llama(), "hidden_act", "swish")), "");
  EXPECT_EQ(rules_of(with(llama(), "hidden_act", "gelu")), "model.unsupported-field");
  EXPECT_EQ(accepted(with(gpt2(), "activation_function", "gelu")).activation,
            ActivationKind::kGeluErf);
  EXPECT_EQ(accepted(with(gpt2(), "activation_function", "gelu_pytorch_tanh")).activation,
            ActivationKind::kGeluTanh);
  EXPECT_EQ(rules_of(with(gpt2(), "activation_function", "relu")), "model.unsupported-field");
}

TEST(HfConfig, ScaledRopeIsAFindingThatNamesFieldAndValue) {
  EXPECT_EQ(rules_of(with(llama(), "rope_scaling", {{"rope_type", "default"}})), "");
  EXPECT_EQ(rules_of(with(llama(), "rope_scaling", json::object())), "");
  const auto scaled =
      read(with(llama(), "rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}));
  ASSERT_EQ(scaled.findings.size(), 1u);
  EXPECT_EQ(scaled.findings[0].rule, "model.unsupported-field");
  EXPECT_NE(scaled.findings[0].message.find("rope_scaling.rope_type is 'llama3'"),
            std::string::npos);
  EXPECT_EQ(rules_of(with(llama(), "rope_scaling", {{"type", "linear"}, {"factor", 2}})),
            "model.unsupported-field");
  EXPECT_EQ(rules_of(with(llama(), "rope_scaling", 2.0)), "model.wrong-type");
}

TEST(HfConfig, RopeParametersAreReadToo) {
  const json file = without(llama(), "rope_theta");
  EXPECT_EQ(accepted(with(file, "rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5e5}}))
                .rope_base,
            5e5);
  EXPECT_EQ(rules_of(with(file, "rope_parameters", {{"rope_type", "yarn"}})),
            "model.unsupported-field");
  EXPECT_EQ(rules_of(with(file, "rope_parameters", {{"partial_rotary_factor", 0.5}})),
            "model.unsupported-field");
}

TEST(HfConfig, ASlidingWindowCapsThePositionsWithANote) {
  const json mistral = with(of_type("mistral"), "max_position_embeddings", 32768);
  EXPECT_EQ(rules_of(with(mistral, "sliding_window", nullptr)), "");
  EXPECT_EQ(rules_of(with(mistral, "sliding_window", 32768)), "");
  EXPECT_EQ(rules_of(with(mistral, "sliding_window", 32767)), "model.sliding-window");
  EXPECT_EQ(accepted(with(mistral, "sliding_window", 4096)).max_positions, 4096);
  EXPECT_EQ(accepted(mistral).max_positions, 4096);  // the class's default
}

TEST(HfConfig, QwenSlidesOnlyWhereItSaysSo) {
  const json qwen = with(with(of_type("qwen2"), "sliding_window", 128), "max_window_layers", 2);
  EXPECT_EQ(rules_of(qwen), "");
  json slides = with(qwen, "use_sliding_window", true);
  EXPECT_EQ(rules_of(slides), "");  // layers from the second up, and there are two
  slides["max_window_layers"] = 1;
  EXPECT_EQ(rules_of(slides), "model.sliding-window");
  slides["max_window_layers"] = 0;
  EXPECT_EQ(accepted(slides).max_positions, 128);
  slides["layer_types"] = {"full_attention", "full_attention"};
  EXPECT_EQ(rules_of(slides), "");
  slides["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_EQ(rules_of(slides), "model.sliding-window");
  slides["layer_types"] = {"full_attention", "linear_attention"};
  EXPECT_EQ(rules_of(slides), "model.unsupported-field");
}

TEST(HfConfig, FeaturesThatAreNotModelledAreFindingsUnlessTheyAreOff) {
  const struct {
    json file;
    const char* field;
    json on, off;
  } rows[] = {
      {llama(), "num_local_experts", 8, 0},
      {llama(), "num_experts", 64, nullptr},
      {llama(), "n_routed_experts", 256, nullptr},
      {llama(), "num_nextn_predict_layers", 1, 0},
      {llama(), "kv_lora_rank", 512, nullptr},
      {llama(), "q_lora_rank", 1536, nullptr},
      {llama(), "quantization_config", {{"bits", 4}}, nullptr},
      {llama(), "no_rope_layers", {1, 0}, json::array()},
      {llama(), "use_mrope", true, false},
      {llama(), "partial_rotary_factor", 0.5, 1.0},
      {llama(), "attn_logit_softcapping", 50.0, nullptr},
      {llama(), "final_logit_softcapping", 30.0, nullptr},
      {llama(), "clip_qkv", 8.0, nullptr},
      {gpt2(), "scale_attn_weights", false, true},
      {gpt2(), "scale_attn_by_inverse_layer_idx", true, false},
      {gpt2(), "reorder_and_upcast_attn", true, false},
      {gpt2(), "add_cross_attention", true, false},
      {gpt2(), "is_encoder_decoder", true, false},
      {gpt2(), "pruned_heads", {{"0", {1}}}, json::object()},
  };
  for (const auto& row : rows) {
    const auto refused = read(with(row.file, row.field, row.on));
    ASSERT_EQ(refused.findings.size(), 1u) << row.field << to_text(refused.findings);
    EXPECT_EQ(refused.findings[0].rule, "model.unsupported-field");
    EXPECT_NE(refused.findings[0].message.find(row.field), std::string::npos);
    EXPECT_EQ(rules_of(with(row.file, row.field, row.off)), "") << row.field;
  }
}

TEST(HfConfig, TypesThatAreNotModelledAreFindings) {
  for (const char* type : {"mixtral", "deepseek_v3", "gemma2", "qwen2_moe", "LLAMA", ""}) {
    EXPECT_EQ(rules_of(of_type(type)), "model.unsupported-type") << type;
  }
  EXPECT_EQ(rules_of(without(llama(), "model_type")), "model.unsupported-type");
  EXPECT_EQ(rules_of(with(llama(), "model_type", 3)), "model.wrong-type model.unsupported-type");
}

TEST(HfConfig, EveryRequiredFieldIsAskedFor) {
  for (const char* field : {"num_hidden_layers", "hidden_size", "num_attention_heads",
                            "intermediate_size", "vocab_size"}) {
    EXPECT_EQ(rules_of(without(llama(), field)), "model.missing-field") << field;
    EXPECT_EQ(rules_of(with(llama(), field, nullptr)), "model.missing-field") << field;
  }
  for (const char* field : {"n_layer", "n_embd", "n_head", "vocab_size"}) {
    EXPECT_EQ(rules_of(without(gpt2(), field)), "model.missing-field") << field;
  }
  EXPECT_EQ(read({{"model_type", "llama"}}).findings.size(), 5u);  // all at once
}

TEST(HfConfig, WrongTypesAreFindings) {
  for (const json& value : {json("12"), json(12.0), json(true), json::array(), json::object()}) {
    EXPECT_EQ(rules_of(with(llama(), "hidden_size", value)), "model.wrong-type") << value;
  }
  EXPECT_EQ(rules_of(with(llama(), "tie_word_embeddings", 1)), "model.wrong-type");
  EXPECT_EQ(rules_of(with(llama(), "rms_norm_eps", "1e-5")), "model.wrong-type");
  EXPECT_EQ(rules_of(with(llama(), "hidden_act", 7)), "model.wrong-type");
}

TEST(HfConfig, AbsurdSizesAreFindingsAndNeverOverflow) {
  for (const json& value : {json(0), json(-1), json(INT64_MIN), json(INT64_MAX), json(UINT64_MAX),
                            json(int64_t{INT32_MAX} + 1)}) {
    for (const char* field : {"hidden_size", "num_attention_heads", "num_key_value_heads",
                              "vocab_size", "max_position_embeddings", "intermediate_size"}) {
      EXPECT_EQ(rules_of(with(llama(), field, value)), "model.size-out-of-range") << field << value;
    }
    EXPECT_EQ(rules_of(with(gpt2(), "n_embd", value)), "model.size-out-of-range") << value;
  }
  EXPECT_EQ(rules_of(with(llama(), "vocab_size", INT32_MAX)), "");
}

TEST(HfConfig, HeadsMustDivide) {
  EXPECT_EQ(rules_of(with(llama(), "num_attention_heads", 6)), "model.heads-divide-hidden");
  EXPECT_EQ(rules_of(with(with(llama(), "num_attention_heads", 6), "head_dim", 16)), "");
  EXPECT_EQ(rules_of(with(gpt2(), "n_head", 6)), "model.heads-divide-hidden");
  EXPECT_EQ(rules_of(with(llama(), "num_key_value_heads", 3)), "model.kv-heads-divide-heads");
  EXPECT_EQ(rules_of(with(llama(), "head_dim", 15)), "model.rope-needs-even-head-dim");
  EXPECT_EQ(rules_of(with(llama(), "rope_theta", 0)), "model.rope-base");
  EXPECT_EQ(rules_of(with(llama(), "rms_norm_eps", 0)), "model.norm-eps");
}

TEST(HfConfig, WhatIsNotReadIsNoted) {
  EXPECT_EQ(rules_of(with(llama(), "brand_new_feature", 3)), "model.unread-field");
  EXPECT_EQ(rules_of(with(llama(), "brand_new_feature", false)), "");
  EXPECT_EQ(rules_of(with(llama(), "attention_dropout", 0.1)), "model.dropout-not-read");
  EXPECT_EQ(rules_of(with(llama(), "attention_dropout", 0.0)), "");
  EXPECT_EQ(rules_of(with(llama(), "initializer_range", 0.01)), "model.initializer-not-read");
  EXPECT_EQ(rules_of(with(llama(), "initializer_range", 0.02)), "");
}

TEST(HfConfig, WhatIsNoJsonObjectIsAFinding) {
  for (const char* text :
       {"", "{", "{\"a\":}", "not json", "{} {}", "[1e999]", "\xff\xfe", "NaN"}) {
    const auto checked = parse_hf_config(text, "file");
    ASSERT_EQ(checked.findings.size(), 1u) << text;
    EXPECT_EQ(checked.findings[0].rule, "model.broken-json") << text;
  }
  EXPECT_EQ(parse_hf_config(std::string("{}\0x", 4), "file").findings.at(0).rule,
            "model.broken-json");
  for (const char* text : {"[]", "3", "null", "\"llama\""}) {
    EXPECT_EQ(parse_hf_config(text, "file").findings.at(0).rule, "model.not-an-object") << text;
  }
}

TEST(HfConfig, DeepNestingIsNoDanger) {
  const std::string deep(200000, '[');
  EXPECT_EQ(parse_hf_config(deep, "file").findings.at(0).rule, "model.broken-json");
  const std::string closed = "{\"rope_scaling\":" + deep + std::string(200000, ']') + "}";
  EXPECT_EQ(parse_hf_config(closed, "file").findings.at(0).rule, "model.unsupported-type");
}

TEST(HfConfig, ControlCharactersDoNotReachTheTerminal) {
  const auto checked = read(with(llama(), "hidden_act", "\x1b[31mred"));
  EXPECT_EQ(to_text(checked.findings).find('\x1b'), std::string::npos);
}

// A few thousand files: real ones with bytes changed, cut or doubled, and real ones with random
// values in random fields. Each is a model that passes its own rules, or findings.
TEST(HfConfig, RandomFilesAreReadOrRefused) {
  std::mt19937 random(7);
  const std::vector<json> values = {nullptr,
                                    true,
                                    0,
                                    -1,
                                    3,
                                    INT64_MAX,
                                    UINT64_MAX,
                                    1e300,
                                    0.5,
                                    "gelu",
                                    "",
                                    json::array({1, "x"}),
                                    json::object({{"a", 1}})};
  int num_accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    json file = round % 2 == 0 ? llama() : gpt2();
    if (round % 4 < 2) {
      for (size_t n = random() % 3 + 1; n > 0; --n) {
        auto field = file.begin();
        std::advance(field, static_cast<long>(random() % file.size()));
        *field = values[random() % values.size()];
      }
    }
    std::string text = file.dump();
    if (round % 4 >= 2) {
      for (size_t n = random() % 3; n > 0; --n) {
        text[random() % text.size()] = static_cast<char>(random());
      }
      if (random() % 4 == 0) text.resize(random() % text.size());
    }
    const auto checked = parse_hf_config(text, "file");
    ASSERT_EQ(checked.value.has_value(), !rejects(checked.findings)) << text;
    if (!checked.value) continue;
    ++num_accepted;
    EXPECT_TRUE(validate(*checked.value).empty()) << text;
  }
  EXPECT_GT(num_accepted, 100);
}

}  // namespace
}  // namespace refrain::config
