// Models small enough to plan for in a test, in the two styles that named models come in.
#pragma once

#include "config/model_config.h"

namespace refrain::plan {

/// Grouped queries, RoPE, RMSNorm, SwiGLU.
inline config::ModelConfig small_llama(int64_t layers) {
  return {.num_layers = layers,
          .hidden = 32,
          .num_heads = 4,
          .num_kv_heads = 2,
          .head_dim = 8,
          .ffn_hidden = 96,
          .vocab = 64,
          .max_positions = 64};
}

/// Learned positions, LayerNorm, GELU, biases, tied embeddings.
inline config::ModelConfig small_gpt(int64_t layers) {
  config::ModelConfig config = small_llama(layers);
  config.num_kv_heads = 4;
  config.norm = config::NormKind::kLayerNorm;
  config.position = config::PositionKind::kLearned;
  config.activation = config::ActivationKind::kGeluTanh;
  config.qkv_bias = config.linear_bias = config.tied_embeddings = true;
  return config;
}

}  // namespace refrain::plan
