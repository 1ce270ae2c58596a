// Small models that between them take every option a dense decoder has.
#pragma once

#include <vector>

#include "config/model_config.h"
#include "config/recompute_setting.h"
#include "config/run_shape.h"

namespace refrain::exact {

inline config::ModelConfig tiny_llama() {
  return {.name = "llama",
          .num_layers = 4,
          .hidden = 24,
          .num_heads = 6,
          .num_kv_heads = 2,
          .head_dim = 4,
          .ffn_hidden = 40,
          .vocab = 61,
          .max_positions = 64};
}

inline config::ModelConfig tiny_gpt() {
  config::ModelConfig config = tiny_llama();
  config.name = "gpt";
  config.num_kv_heads = config.num_heads;
  config.norm = config::NormKind::kLayerNorm;
  config.position = config::PositionKind::kLearned;
  config.activation = config::ActivationKind::kGeluTanh;
  config.qkv_bias = config.linear_bias = config.tied_embeddings = true;
  return config;
}

inline config::ModelConfig tiny_qwen() {
  config::ModelConfig config = tiny_llama();
  config.name = "qwen";
  config.num_kv_heads = 1;
  config.qk_norm = config.qkv_bias = config.tied_embeddings = true;
  return config;
}

/// A mixture nobody publishes: LayerNorm with RoPE, GELU (erf), grouped queries, no biases.
inline config::ModelConfig tiny_mixture() {
  config::ModelConfig config = tiny_llama();
  config.name = "mixture";
  config.norm = config::NormKind::kLayerNorm;
  config.activation = config::ActivationKind::kGeluErf;
  return config;
}

inline std::vector<config::ModelConfig> tiny_models() {
  return {tiny_llama(), tiny_gpt(), tiny_qwen(), tiny_mixture()};
}

/// Every subset of the labels, and full in its forms, for models of four layers.
inline std::vector<config::RecomputeSetting> all_settings() {
  using config::Label;
  constexpr Label kLabels[] = {Label::kCoreAttn, Label::kLayernorm, Label::kMlp};
  std::vector<config::RecomputeSetting> settings = {{}};
  for (unsigned subset = 1; subset < 8; ++subset) {
    config::RecomputeSetting setting{.granularity = config::Granularity::kSelective};
    for (unsigned i = 0; i < 3; ++i) {
      if (subset >> i & 1) setting.labels.push_back(kLabels[i]);
    }
    settings.push_back(setting);
  }
  settings.push_back(
      {.granularity = config::Granularity::kSelective, .labels = {Label::kPointwise}});
  const auto full = [&](config::FullMethod method, int64_t num_layers) {
    settings.push_back(
        {.granularity = config::Granularity::kFull, .method = method, .num_layers = num_layers});
  };
  for (int64_t k : {1, 2, 3, 4}) full(config::FullMethod::kUniform, k);
  for (int64_t k : {1, 2, 4}) full(config::FullMethod::kBlock, k);
  return settings;
}

}  // namespace refrain::exact
