#include "model/dense.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace refrain::model {
namespace {

using config::ModelConfig;
using config::RunShape;

ModelConfig gpt2() {
  return {.name = "gpt2",
          .num_layers = 12,
          .hidden = 768,
          .num_heads = 12,
          .num_kv_heads = 12,
          .head_dim = 64,
          .ffn_hidden = 3072,
          .vocab = 50257,
          .max_positions = 1024,
          .norm = config::NormKind::kLayerNorm,
          .position = config::PositionKind::kLearned,
          .activation = config::ActivationKind::kGeluTanh,
          .qkv_bias = true,
          .linear_bias = true,
          .tied_embeddings = true};
}

ModelConfig llama3_8b() {
  return {.name = "llama3-8b",
          .num_layers = 32,
          .hidden = 4096,
          .num_heads = 32,
          .num_kv_heads = 8,
          .head_dim = 128,
          .ffn_hidden = 14336,
          .vocab = 128256,
          .max_positions = 8192,
          .rope_base = 500000};
}

int64_t parameters(const ModelConfig& config) {
  return num_trained(collect_params(build_dense(config, {.seq = 16})));
}

const Op& op_named(const LayerGraph& graph, std::string_view name) {
  const auto found = std::find_if(graph.ops.begin(), graph.ops.end(),
                                  [&](const Op& op) { return op.name == name; });
  EXPECT_NE(found, graph.ops.end()) << name;
  return *found;
}

std::vector<std::string> op_names(const LayerGraph& graph) {
  std::vector<std::string> names;
  for (const Op& op : graph.ops) names.push_back(op.name);
  return names;
}

// The published sizes: "gpt2" and "Meta-Llama-3-8B" on Hugging Face, Qwen3-0.6B likewise.
TEST(Dense, ParameterCountsAreThePublishedOnes) {
  EXPECT_EQ(parameters(gpt2()), 124'439'808);
  EXPECT_EQ(parameters(llama3_8b()), 8'030'261'248);
  const ModelConfig qwen3 = {.num_layers = 28,
                             .hidden = 1024,
                             .num_heads = 16,
                             .num_kv_heads = 8,
                             .head_dim = 128,
                             .ffn_hidden = 3072,
                             .vocab = 151936,
                             .max_positions = 40960,
                             .qk_norm = true,
                             .tied_embeddings = true};
  EXPECT_EQ(parameters(qwen3), 596'049'920);
}

TEST(Dense, LayersShareOneGraphAndParametersDoNot) {
  const ModelGraph model = build_dense(gpt2(), {.seq = 16});
  EXPECT_EQ(model.graphs.size(), 3u);
  EXPECT_EQ(model.blocks.size(), 14u);
  const ModelParams params = collect_params(model);
  EXPECT_NE(params.index[1][0], params.index[2][0]);
  // The tied weight is one parameter of two blocks.
  EXPECT_EQ(params.index.front()[0], params.index.back().back());
}

TEST(Dense, LlamaLayerIsTheseOps) {
  const ModelGraph model = build_dense(llama3_8b(), {.seq = 16});
  EXPECT_EQ(op_names(model.graphs[1]),
            (std::vector<std::string>{"attn.norm", "attn.qkv_proj", "attn.qkv.rope", "attn.core",
                                      "attn.out_proj", "middle.add", "mlp.norm", "mlp.up_proj",
                                      "mlp.act", "mlp.down_proj", "output.add"}));
}

TEST(Dense, QkNormKeepsQueriesKeysAndValuesApart) {
  ModelConfig config = llama3_8b();
  config.qk_norm = true;
  const ModelGraph model = build_dense(config, {.seq = 16});
  const Op& core = op_named(model.graphs[1], "attn.core");
  EXPECT_EQ(core.reads.size(), 3u);
  EXPECT_TRUE(std::get<AttentionAttributes>(core.attributes).separate_qkv);
  const Op& norm = op_named(model.graphs[1], "attn.q.norm");
  EXPECT_EQ(model.graphs[1].tensors[norm.reads[0]].shape, (Shape{16, 32, 128}));
  EXPECT_TRUE(norm.labels.empty());  // Megatron's layernorm label leaves q/k norms alone
}

TEST(Dense, UnfusedAttentionDeclaresTheSquareTensors) {
  const ModelGraph model = build_dense(
      llama3_8b(), {.micro_batch = 2, .seq = 16, .attention = config::AttentionBackend::kUnfused});
  const Op& context = op_named(model.graphs[1], "attn.context");
  EXPECT_EQ(model.graphs[1].tensors[context.reads[0]].shape, (Shape{2, 32, 16, 16}));
}

TEST(Dense, DropoutTurnsTheBranchGradientIntoATensorOfItsOwn) {
  const ModelGraph without = build_dense(gpt2(), {.seq = 16});
  const ModelGraph with = build_dense(gpt2(), {.seq = 16, .dropout = 0.1});
  EXPECT_EQ(op_named(without.graphs[1], "middle.add").shared_gradient_reads.size(), 2u);
  EXPECT_EQ(op_named(with.graphs[1], "middle.add").shared_gradient_reads.size(), 1u);
  EXPECT_EQ(with.graphs[0].ops.size(), without.graphs[0].ops.size() + 1);
}

TEST(Dense, LogitsExistForAChunkOfTokensOnly) {
  const auto chunk = [](int64_t tokens, int64_t vocab) {
    ModelConfig config = gpt2();
    config.vocab = vocab;
    const ModelGraph model = build_dense(config, {.seq = tokens});
    return std::get<HeadLossAttributes>(model.graphs[2].ops.back().attributes).chunk_tokens;
  };
  EXPECT_EQ(chunk(1024, 8192), 512);
  EXPECT_EQ(chunk(1024, 128256), 64);  // never under 64
  EXPECT_EQ(chunk(16, 256), 16);       // never over the tokens
}

}  // namespace
}  // namespace refrain::model
