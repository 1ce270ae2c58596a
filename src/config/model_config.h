// What a dense decoder is, as plain numbers. GPT and Llama styles are two settings of one struct.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace refrain::config {

enum class NormKind { kLayerNorm, kRmsNorm };
enum class PositionKind { kLearned, kRope };
enum class ActivationKind { kGeluTanh, kGeluErf, kSwiglu };
std::string_view to_text(NormKind kind);
std::string_view to_text(PositionKind kind);
std::string_view to_text(ActivationKind kind);

struct ModelConfig {
  std::string name;
  int64_t num_layers = 0;
  int64_t hidden = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t ffn_hidden = 0;
  int64_t vocab = 0;
  int64_t max_positions = 0;
  NormKind norm = NormKind::kRmsNorm;
  double norm_eps = 1e-5;
  PositionKind position = PositionKind::kRope;
  double rope_base = 10000.0;
  ActivationKind activation = ActivationKind::kSwiglu;
  bool qkv_bias = false;
  bool linear_bias = false;  // attention output projection and both MLP projections
  bool qk_norm = false;      // RMSNorm over each head's q and k, before RoPE
  bool tied_embeddings = false;

  bool operator==(const ModelConfig&) const = default;
};

/// The models Refrain knows by name, in the order `refrain models` prints them.
const std::vector<ModelConfig>& named_models();

/// What must hold of a model by itself: sizes in range, heads that divide, finite constants.
Findings validate(const ModelConfig& model);

/// A named model, or the path of a Hugging Face config.json (Llama, Mistral, Qwen2, Qwen3, GPT-2).
/// Findings: unknown name (with the nearest), unreadable or unsupported file, impossible sizes.
Checked<ModelConfig> find_model(const std::string& name_or_path);

}  // namespace refrain::config
