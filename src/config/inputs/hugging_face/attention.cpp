// Fields: configuration_deepseek_v3.py and configuration_qwen3_next.py of the transformers library;
// knobs: Megatron-Core's MLATransformerConfig and TransformerConfig.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "config/inputs/hugging_face/knob_import.h"

namespace refrain::config {
namespace {

/// Where latents are expanded, Megatron counts neither key-value heads nor the width of a head.
void set_latents(const HfRope& rope, KnobImport& in) {
  in.set("multi_latent_attention", true);
  // Null: queries are projected in one step.
  const bool has_latent = !in.read.is_null("q_lora_rank");
  in.set("q_lora_rank", has_latent ? Value(in.read.size("q_lora_rank", 1536)) : Value());
  in.set("kv_lora_rank", in.read.size("kv_lora_rank"));
  in.set("qk_head_dim", in.read.size("qk_nope_head_dim"));
  in.set("qk_pos_emb_head_dim", in.model.head_dim);
  in.set("v_head_dim", in.read.size("v_head_dim"));
  in.set("rope_type", rope.scaling == "yarn" ? "yarn" : "rope");
}

/// One flag a layer, 1 for linear attention: what layer_types lists.
std::vector<int64_t> linear_layers(KnobImport& in) {
  std::vector<int64_t> flags;
  for (const std::string& kind : in.read.words("layer_types")) {
    if (kind != "linear_attention" && kind != "full_attention") {
      in.read.complain(unsupported_field("layer_types", Value(kind),
                                         "layers other than linear and full attention"));
      return {};
    }
    flags.push_back(kind == "linear_attention" ? 1 : 0);
  }
  const bool fits = static_cast<int64_t>(flags.size()) == in.model.num_layers;
  if (!flags.empty() && !fits && !in.read.failed()) {
    in.read.complain({"model.one-kind-a-layer",
                      fmt::format("layer_types must have an item a layer: {} of {}", flags.size(),
                                  in.model.num_layers),
                      "correct layer_types or num_hidden_layers"});
  }
  return flags;
}

/// True where every `every`-th layer has softmax attention and no other has.
bool is_rhythm(const std::vector<int64_t>& flags, int64_t every) {
  for (size_t i = 0; i < flags.size(); ++i) {
    const bool full = (static_cast<int64_t>(i) + 1) % every == 0;
    if (flags[i] != (full ? 0 : 1)) return false;
  }
  return true;
}

Value linear_frequency(KnobImport& in) {
  const int64_t interval = in.read.size("full_attention_interval", 4);
  const std::vector<int64_t> flags = linear_layers(in);
  if (flags.empty()) return interval;
  const auto first_full = std::find(flags.begin(), flags.end(), 0);
  const int64_t every = first_full - flags.begin() + 1;
  return first_full != flags.end() && is_rhythm(flags, every) ? Value(every) : Value(flags);
}

void set_delta_net(KnobImport& in) {
  in.set("experimental_attention_variant", "gated_delta_net");
  in.set("linear_attention_freq", linear_frequency(in));
  in.set("linear_conv_kernel_dim", in.read.size("linear_conv_kernel_dim", 4));
  in.set("linear_key_head_dim", in.read.size("linear_key_head_dim", 128));
  in.set("linear_value_head_dim", in.read.size("linear_value_head_dim", 128));
  in.set("linear_num_key_heads", in.read.size("linear_num_key_heads", 16));
  in.set("linear_num_value_heads", in.read.size("linear_num_value_heads", 32));
  in.set("attention_output_gate", true);
  in.set("layernorm_zero_centered_gamma", true);
}

}  // namespace

void set_attention(const HfRope& rope, KnobImport& in) {
  if (in.model.position == PositionKind::kRope) in.set("rotary_percent", rope.part);
  if (in.type.attention == HfAttention::kLatent) return set_latents(rope, in);
  in.set("num_query_groups", in.model.num_kv_heads);
  in.set("kv_channels", in.model.head_dim);
  if (in.type.attention == HfAttention::kDeltaNet) set_delta_net(in);
}

}  // namespace refrain::config
