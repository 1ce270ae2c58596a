#include "accuracy/model_of.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace refrain::accuracy {
namespace {

using mcore::FeedForward;
using mcore::LayerKind;
using mcore::Mixer;
using mcore::Model;

Model model_named(std::string_view name) {
  const auto architecture = config::find_architecture(name);
  const Checked<Model> model = model_of(architecture.value.value());
  return model.value.value();
}

int64_t count(const Model& model, const LayerKind& kind) {
  return std::count(model.layers.begin(), model.layers.end(), kind);
}

TEST(ModelOf, ADenseModelHasItsSizes) {
  const Model llama = model_named("llama3_70b");
  EXPECT_EQ(llama.family, mcore::Family::kDecoder);
  EXPECT_EQ(llama.layers.size(), 80u);
  EXPECT_EQ(count(llama, {}), 80);  // attention and a dense half, not windowed
  EXPECT_EQ(llama.hidden, 8192);
  EXPECT_EQ(llama.ffn, 28672);
  EXPECT_EQ(llama.attention.num_heads, 64);
  EXPECT_EQ(llama.attention.num_query_groups, 8);
  EXPECT_EQ(llama.attention.head_dim, 128);
  EXPECT_FALSE(llama.attention.qk_norm);
  EXPECT_FALSE(llama.attention.output_gate);
  EXPECT_EQ(llama.vocab, 128256);
  EXPECT_EQ(llama.vocab_divisible_by, 128);
  EXPECT_TRUE(llama.gated);
  EXPECT_TRUE(llama.rms_norm);
  EXPECT_FALSE(llama.linear_bias);
  EXPECT_FALSE(llama.tied_embeddings);
  EXPECT_EQ(llama.positions, Model::Positions::kRope);
  EXPECT_EQ(llama.attention_dropout, 0);
  EXPECT_EQ(llama.experts.num_experts, 0);
  EXPECT_EQ(llama.mtp_layers, 0);
}

TEST(ModelOf, TiedEmbeddingsBiasesAndNormsFollowTheRow) {
  EXPECT_TRUE(model_named("llama32_1b").tied_embeddings);
  EXPECT_TRUE(model_named("qwen3_8b").attention.qk_norm);
  EXPECT_TRUE(model_named("Qwen2.5 7B").qkv_bias);
  EXPECT_FALSE(model_named("qwen3_8b").qkv_bias);
  const Model gpt = model_named("GPT-3 175B");
  EXPECT_FALSE(gpt.rms_norm);
  EXPECT_TRUE(gpt.linear_bias);
  EXPECT_FALSE(gpt.gated);
  EXPECT_EQ(gpt.positions, Model::Positions::kLearned);
  EXPECT_EQ(model_named("Nemotron 3.5 Lightning").positions, Model::Positions::kNone);
}

TEST(ModelOf, LatentAttentionAndDenseLayersInFrontFollowTheRow) {
  const Model deepseek = model_named("deepseek_v3");
  EXPECT_EQ(count(deepseek, {Mixer::kLatentAttention, FeedForward::kDense}), 3);
  EXPECT_EQ(count(deepseek, {Mixer::kLatentAttention, FeedForward::kExperts}), 58);
  EXPECT_EQ(deepseek.layers[2].feed_forward, FeedForward::kDense);
  EXPECT_EQ(deepseek.layers[3].feed_forward, FeedForward::kExperts);
  EXPECT_EQ(deepseek.attention.q_lora_rank, 1536);
  EXPECT_EQ(deepseek.attention.kv_lora_rank, 512);
  EXPECT_EQ(deepseek.attention.qk_nope_dim, 128);
  EXPECT_EQ(deepseek.attention.qk_rope_dim, 64);
  EXPECT_EQ(deepseek.attention.v_dim, 128);
  EXPECT_EQ(deepseek.experts.num_experts, 256);
  EXPECT_EQ(deepseek.experts.topk, 8);
  EXPECT_EQ(deepseek.experts.ffn, 2048);
  EXPECT_EQ(deepseek.experts.shared_ffn, 2048);
  EXPECT_EQ(deepseek.mtp_layers, 1);
  EXPECT_EQ(model_named("deepseek_v2_lite").attention.q_lora_rank, 0);
}

TEST(ModelOf, ARhythmOfOnePutsExpertsIntoEveryLayer) {
  const Model qwen = model_named("qwen3_30b_a3b");
  EXPECT_EQ(count(qwen, {Mixer::kAttention, FeedForward::kExperts}), 48);
  EXPECT_EQ(qwen.experts.shared_ffn, 0);
  EXPECT_TRUE(qwen.experts.grouped_gemm);
}

TEST(ModelOf, WindowsAlternateFromTheFirstLayerOn) {
  const Model gpt_oss = model_named("GPT-OSS 20B");
  EXPECT_EQ(gpt_oss.attention.window, 128);
  EXPECT_TRUE(gpt_oss.layers[0].windowed);
  EXPECT_FALSE(gpt_oss.layers[1].windowed);
  EXPECT_EQ(model_named("llama3_70b").attention.window, 0);
}

TEST(ModelOf, EveryFourthLayerOfAGatedDeltaNetIsSoftmaxAttention) {
  const Model qwen = model_named("qwen3_next_80b_a3b");
  EXPECT_EQ(qwen.layers[2].mixer, Mixer::kLinearAttention);
  EXPECT_EQ(qwen.layers[3].mixer, Mixer::kAttention);
  EXPECT_EQ(count(qwen, {Mixer::kAttention, FeedForward::kExperts}), 12);
  EXPECT_TRUE(qwen.attention.output_gate);
  EXPECT_EQ(qwen.state.num_key_heads, 16);
  EXPECT_EQ(qwen.state.num_value_heads, 32);
  EXPECT_EQ(qwen.state.conv_kernel, 4);
  EXPECT_EQ(model_named("qwen35_vl_27b").state.num_value_heads, 48);
}

TEST(ModelOf, AHybridPatternIsItsLayersAndItsPredictionDepthsAreNot) {
  const Model nemotron = model_named("Nemotron 3 Super 120B-A12B");
  EXPECT_EQ(nemotron.layers.size(), 88u);
  EXPECT_EQ(count(nemotron, {Mixer::kMamba, FeedForward::kNone}), 40);
  EXPECT_EQ(count(nemotron, {Mixer::kAttention, FeedForward::kNone}), 8);
  EXPECT_EQ(count(nemotron, {Mixer::kNone, FeedForward::kExperts}), 40);
  EXPECT_EQ(nemotron.mtp_layers, 2);
  EXPECT_EQ(nemotron.experts.latent_dim, 1024);
  EXPECT_EQ(nemotron.state.num_heads, 128);
  EXPECT_EQ(nemotron.state.head_dim, 64);
}

TEST(ModelOf, PatternsAreReadLetterByLetter) {
  const auto layers = hybrid_layers("M-|*E/*E/*E");
  ASSERT_TRUE(layers);
  EXPECT_EQ(*layers, (std::vector<LayerKind>{{Mixer::kMamba, FeedForward::kNone},
                                             {Mixer::kNone, FeedForward::kDense},
                                             {Mixer::kAttention, FeedForward::kNone},
                                             {Mixer::kNone, FeedForward::kExperts}}));
  EXPECT_EQ(hybrid_mtp_layers("M-|*E/*E/*E"), 2);
  EXPECT_EQ(hybrid_mtp_layers("M-"), 0);
  EXPECT_FALSE(hybrid_layers("M-x"));
  EXPECT_EQ(hybrid_layers("")->size(), 0u);
}

TEST(ModelOf, AVocabularyNobodyStatesIsANote) {
  const auto lightning =
      model_of(config::find_architecture("Nemotron 3.5 Lightning").value.value());
  ASSERT_TRUE(lightning.value);
  ASSERT_EQ(lightning.findings.size(), 1u);
  EXPECT_EQ(lightning.findings[0].rule, "architecture.vocabulary-assumed");
  EXPECT_EQ(lightning.findings[0].severity, Severity::kNote);
  EXPECT_TRUE(model_of(config::find_architecture("llama3_70b").value.value()).findings.empty());
}

TEST(ModelOf, WhatIsMissingIsNamed) {
  const auto glm = model_of(config::find_architecture("glm52").value.value());
  ASSERT_FALSE(glm.value);
  ASSERT_EQ(glm.findings.size(), 1u);
  EXPECT_EQ(glm.findings[0].rule, "architecture.incomplete");
  EXPECT_NE(glm.findings[0].message.find("hidden_size, num_attention_heads, kv_lora_rank"),
            std::string::npos);
  const auto wan = model_of(config::find_architecture("Wan 2.1 14B (diffusion)").value.value());
  ASSERT_FALSE(wan.value);
  EXPECT_EQ(wan.findings.back().rule, "architecture.not-a-decoder");
}

TEST(ModelOf, EveryRowGivesAModelOrSaysWhyNot) {
  int models = 0;
  for (const config::Architecture& architecture : config::architectures()) {
    const Checked<Model> model = model_of(architecture);
    EXPECT_EQ(model.value.has_value(), !rejects(model.findings)) << architecture.name;
    if (!model.value) continue;
    ++models;
    EXPECT_GT(model.value->attention.head_dim, 0) << architecture.name;
    EXPECT_GT(model.value->ffn, 0) << architecture.name;
  }
  EXPECT_EQ(models, 67);
}

}  // namespace
}  // namespace refrain::accuracy
