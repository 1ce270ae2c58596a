// The models Refrain knows by name: one row a model, one line of common options a style.
#include <string>
#include <vector>

#include "config/model_config.h"

namespace refrain::config {
namespace {

/// What differs between models of one style.
struct Sizes {
  int64_t layers, hidden, heads, kv_heads, ffn, vocab, positions;
};

ModelConfig sized(std::string name, const Sizes& sizes) {
  ModelConfig model;
  model.name = std::move(name);
  model.num_layers = sizes.layers;
  model.hidden = sizes.hidden;
  model.num_heads = sizes.heads;
  model.num_kv_heads = sizes.kv_heads;
  model.head_dim = sizes.hidden / sizes.heads;
  model.ffn_hidden = sizes.ffn;
  model.vocab = sizes.vocab;
  model.max_positions = sizes.positions;
  return model;
}

/// LayerNorm, learned positions, GELU, multi-head attention, biases, tied embeddings (GPT-2).
ModelConfig gpt(std::string name, const Sizes& sizes) {
  ModelConfig model = sized(std::move(name), sizes);
  model.norm = NormKind::kLayerNorm;
  model.position = PositionKind::kLearned;
  model.activation = ActivationKind::kGeluTanh;
  model.qkv_bias = true;
  model.linear_bias = true;
  model.tied_embeddings = true;
  return model;
}

/// RMSNorm, RoPE, SwiGLU, grouped-query attention, no biases, untied head (Llama).
ModelConfig llama(std::string name, const Sizes& sizes, double rope_base = 10000.0) {
  ModelConfig model = sized(std::move(name), sizes);
  model.rope_base = rope_base;
  return model;
}

/// Llama with biases on q, k, v, norms on q and k, and a tied head: what Qwen2 and Qwen3 add.
ModelConfig qwen(std::string name, const Sizes& sizes) {
  ModelConfig model = llama(std::move(name), sizes);
  model.qkv_bias = true;
  model.qk_norm = true;
  model.tied_embeddings = true;
  return model;
}

}  // namespace

// The -tiny models are for tests; llama-15m, -60m and -160m train on bytes (vocabulary 256);
// bench-s and bench-m are the shapes of the published measurements; llama3-* have the sizes that
// Meta published for Llama 3 8B and 70B (8192 positions) and 3.1 405B. The 405B row is its shape:
// the RoPE scaling of 3.1 beyond 8192 positions is not part of it.
const std::vector<ModelConfig>& named_models() {
  static const std::vector<ModelConfig> models = {
      //               layers hidden heads kv   ffn  vocab positions
      gpt("gpt2-124m", {12, 768, 12, 12, 3072, 50257, 1024}),
      gpt("gpt-tiny", {4, 64, 4, 4, 256, 256, 128}),
      llama("llama-tiny", {4, 64, 4, 2, 176, 256, 512}),
      qwen("qwen-tiny", {4, 64, 4, 2, 176, 256, 512}),
      llama("llama-15m", {9, 384, 6, 2, 1088, 256, 2048}),
      llama("llama-60m", {14, 640, 10, 2, 1728, 256, 2048}),
      llama("llama-160m", {18, 896, 14, 2, 2624, 256, 2048}),
      llama("bench-s", {8, 512, 8, 4, 1408, 8192, 2048}),
      llama("bench-m", {12, 768, 12, 4, 2048, 16384, 2048}),
      llama("llama3-8b", {32, 4096, 32, 8, 14336, 128256, 8192}, 500000.0),
      llama("llama3-70b", {80, 8192, 64, 8, 28672, 128256, 8192}, 500000.0),
      llama("llama3-405b", {126, 16384, 128, 8, 53248, 128256, 8192}, 500000.0),
  };
  return models;
}

}  // namespace refrain::config
