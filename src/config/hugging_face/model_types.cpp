// Sources: the configuration_*.py and modeling_*.py of each type in the transformers library.
// kimi_k2 is the name that Moonshot AI's copy of deepseek_v3 goes by.
#include "config/hugging_face/model_types.h"

namespace refrain::config {
namespace {

using A = HfAttention;
using B = HfBias;
using L = HfExpertLayers;
using Q = HfQkNorm;
using S = HfSharedExperts;

constexpr HfExperts kDeepSeekExperts = {.count = "n_routed_experts",
                                        .width = "moe_intermediate_size",
                                        .layers = L::kAfterDense,
                                        .shared = S::kCount,
                                        .sigmoid = true};

constexpr HfType kTypes[] = {
    {.name = "llama", .trains = true, .bias = B::kAttentionAndMlp},
    {.name = "mistral", .trains = true, .absent = {.kv_heads = 8, .positions = 131072}},
    {.name = "qwen2",
     .trains = true,
     .bias = B::kQkv,
     .absent = {.kv_heads = 32, .positions = 32768}},
    {.name = "qwen3",
     .trains = true,
     .bias = B::kAttention,
     .qk_norm = Q::kYes,
     .absent = {.kv_heads = 32, .head_dim = 128, .positions = 32768}},
    {.name = "gpt2", .trains = true, .bias = B::kAll, .absent = {.positions = 1024}},
    {.name = "mixtral",
     .absent = {.kv_heads = 8, .positions = 131072, .norm_eps = 1e-5, .rope_base = 1e6},
     .experts = {.count = "num_local_experts", .width = "intermediate_size"}},
    {.name = "olmoe",
     .bias = B::kAttention,
     .qk_norm = Q::kYes,
     .absent = {.positions = 4096, .norm_eps = 1e-5},
     .experts = {.count = "num_experts", .width = "intermediate_size", .normalized = false}},
    {.name = "qwen2_moe",
     .bias = B::kQkvUnlessOff,
     .absent = {.kv_heads = 16, .positions = 32768},
     .experts = {.count = "num_experts",
                 .width = "moe_intermediate_size",
                 .layers = L::kSparseStep,
                 .shared = S::kWidth,
                 .normalized = false}},
    {.name = "qwen3_moe",
     .bias = B::kAttention,
     .qk_norm = Q::kYes,
     .absent = {.kv_heads = 4, .positions = 32768},
     .experts = {.count = "num_experts",
                 .width = "moe_intermediate_size",
                 .layers = L::kSparseStep,
                 .normalized = false}},
    {.name = "qwen3_next",
     .bias = B::kAttention,
     .qk_norm = Q::kYes,
     .attention = A::kDeltaNet,
     .absent = {.kv_heads = 2, .head_dim = 256, .positions = 32768, .rotary_part = 0.25},
     .experts = {.count = "num_experts",
                 .width = "moe_intermediate_size",
                 .layers = L::kSparseStep,
                 .shared = S::kWidth}},
    {.name = "deepseek_v2",
     .bias = B::kAttention,
     .qk_norm = Q::kYes,
     .attention = A::kLatent,
     .experts = {.count = "n_routed_experts",
                 .width = "moe_intermediate_size",
                 .layers = L::kAfterDense,
                 .shared = S::kCount,
                 .normalized = false}},
    {.name = "deepseek_v3",
     .bias = B::kAttention,
     .qk_norm = Q::kYes,
     .attention = A::kLatent,
     .absent = {.positions = 4096},
     .experts = kDeepSeekExperts},
    {.name = "kimi_k2",
     .bias = B::kAttention,
     .qk_norm = Q::kYes,
     .attention = A::kLatent,
     .absent = {.positions = 4096},
     .experts = kDeepSeekExperts},
    {.name = "glm4_moe",
     .bias = B::kQkvByField,
     .qk_norm = Q::kByField,
     .absent = {.kv_heads = 8, .positions = 131072, .norm_eps = 1e-5, .rotary_part = 0.5},
     .experts = kDeepSeekExperts},
    {.name = "gpt_oss",
     .bias = B::kExpertsToo,
     .absent = {.kv_heads = 8,
                .head_dim = 64,
                .positions = 131072,
                .norm_eps = 1e-5,
                .rope_base = 150000},
     .experts = {.count = "num_local_experts", .width = "intermediate_size"}},
};

}  // namespace

std::span<const HfType> hf_types() { return kTypes; }

const HfType* find_hf_type(std::string_view name) {
  for (const HfType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

std::vector<std::string> hf_type_names(bool only_trained) {
  std::vector<std::string> names;
  for (const HfType& type : kTypes) {
    if (type.trains || !only_trained) names.emplace_back(type.name);
  }
  return names;
}

}  // namespace refrain::config
