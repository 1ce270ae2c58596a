// The model types of the transformers library that Refrain reads, one row each: what the class of a
// type fixes, and what its fields mean where a file leaves them out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::config {

/// Which linear layers have biases.
enum class HfBias : uint8_t {
  kNone,
  kQkv,              // q, k and v, whatever the file says
  kQkvUnlessOff,     // those, unless qkv_bias is false
  kQkvByField,       // those, where attention_bias says so
  kAttention,        // attention_bias: q, k, v and the output
  kAttentionAndMlp,  // the same, and mlp_bias for the MLP
  kExpertsToo,       // attention_bias for attention; experts always
  kAll,              // every one
};

enum class HfQkNorm : uint8_t { kNo, kYes, kByField };
enum class HfAttention : uint8_t { kSoftmax, kLatent, kDeltaNet };

/// Which layers have experts.
enum class HfExpertLayers : uint8_t {
  kAll,
  kSparseStep,  // every decoder_sparse_step-th, without mlp_only_layers
  kAfterDense,  // from first_k_dense_replace on, every moe_layer_freq-th
};

enum class HfSharedExperts : uint8_t {
  kNone,
  kWidth,  // shared_expert_intermediate_size, all of them together
  kCount,  // n_shared_experts, each as wide as a routed one
};

/// What a type says of its experts.
struct HfExperts {
  std::string_view count;  // the field that holds their number; empty: the layers are dense
  std::string_view width;  // the field that holds the width of one
  HfExpertLayers layers = HfExpertLayers::kAll;
  HfSharedExperts shared = HfSharedExperts::kNone;
  bool normalized = true;  // norm_topk_prob where it is absent
  bool sigmoid = false;  // scores by sigmoid with a bias an expert, unless the file says otherwise
};

/// What a field is where it is absent.
struct HfDefaults {
  int64_t kv_heads = 0;  // 0: as many as heads
  int64_t head_dim = 0;  // 0: hidden / heads
  int64_t positions = 2048;
  double norm_eps = 1e-6;
  double rope_base = 10000;
  double rotary_part = 1;  // of a head that RoPE turns
};

struct HfType {
  std::string_view name;  // model_type
  bool trains = false;    // Refrain's own engine has all of its layers
  HfBias bias = HfBias::kNone;
  HfQkNorm qk_norm = HfQkNorm::kNo;
  HfAttention attention = HfAttention::kSoftmax;
  HfDefaults absent = {};
  HfExperts experts = {};
};

std::span<const HfType> hf_types();

/// Null where there is no such type.
const HfType* find_hf_type(std::string_view name);

/// All names, or those of the types that `trains`.
std::vector<std::string> hf_type_names(bool only_trained);

}  // namespace refrain::config
