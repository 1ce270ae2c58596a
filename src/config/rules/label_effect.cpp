#include "config/rules/label_effect.h"

#include "config/rules/graph_words.h"

namespace refrain::config {
namespace {

using Reason = std::optional<std::string>;

bool is_expert_layer(const Knobs& k, size_t layer) {
  if (!k.num_moe_experts) return false;
  if (const auto* every = std::get_if<int64_t>(&k.moe_layer_freq)) {
    return *every > 0 && static_cast<int64_t>(layer) % *every == 0;
  }
  const auto& flags = std::get<std::vector<int64_t>>(k.moe_layer_freq);
  return layer < flags.size() && flags[layer] != 0;
}

/// Beside a delta net every n-th layer keeps softmax attention, or in a list those that are 0.
bool has_softmax(const Knobs& k, size_t layer) {
  const auto& variant = k.experimental_attention_variant;
  const bool linear = variant == "gated_delta_net" || variant == "gdn" || variant == "gdn2";
  if (!linear || !k.linear_attention_freq) return !linear;
  if (const auto* every = std::get_if<int64_t>(&*k.linear_attention_freq)) {
    return *every > 0 && (static_cast<int64_t>(layer) + 1) % *every == 0;
  }
  const auto& flags = std::get<std::vector<int64_t>>(*k.linear_attention_freq);
  return layer >= flags.size() || flags[layer] == 0;
}

/// TransformerEngine's specs fuse a norm into the linear layer that follows it.
Reason norms_fused(const Knobs& k, LayerKind kind) {
  if (k.transformer_impl == "local") return {};
  const bool input_norm = k.multi_latent_attention && !k.mla_down_proj_fusion;
  if (input_norm || kind.has_experts) return {};
  return "both norms are fused into the linear layers behind them";
}

/// A plain checkpoint inside a captured layer or module is passed over.
Reason captured(const Knobs& k, const Context& s, std::string_view module) {
  if (!per_layer(k, s) || s.dialect < Dialect::kMcore_0_16_1) return {};
  if (!captures_nothing_named(k, s) && !captures(k, s, module)) return {};
  return "inside a captured graph the checkpoint is passed over and everything is saved";
}

Reason first_of(std::initializer_list<Reason> reasons) {
  for (const Reason& reason : reasons) {
    if (reason) return reason;
  }
  return {};
}

Reason when(bool holds, std::string_view reason) {
  return holds ? Reason(std::string(reason)) : Reason();
}

}  // namespace

std::vector<LayerKind> layer_kinds(const Knobs& k) {
  constexpr int64_t kMost = 100000;  // more layers than any model has: a slip of the keys
  if (k.num_layers <= 0 || k.num_layers > kMost) return {};
  std::vector<LayerKind> kinds(static_cast<size_t>(k.num_layers));
  for (size_t layer = 0; layer < kinds.size(); ++layer) {
    kinds[layer] = {is_expert_layer(k, layer), has_softmax(k, layer)};
  }
  return kinds;
}

std::string to_text(LayerKind kind) {
  std::string text = kind.has_experts ? "expert" : "dense";
  if (!kind.softmax_attention) text += " linear-attention";
  return text;
}

Reason inactive_because(std::string_view label, const Knobs& k, LayerKind kind, const Context& s) {
  const Reason dense = when(!kind.has_experts, "the layer is dense");
  if (label == "core_attn") {
    return first_of({when(!kind.softmax_attention, "the layer has no softmax attention"),
                     captured(k, s, "attn")});
  }
  if (label == "layernorm") return norms_fused(k, kind);
  if (label == "mlp") {
    return first_of({when(kind.has_experts, "the layer has experts in place of the MLP"),
                     captured(k, s, "mlp")});
  }
  if (label == "moe") {
    const bool local = k.cuda_graph_impl == "local" && !captures(k, s, "moe_router");
    return first_of({dense, when(local, "local graphs pass it over unless the router is captured"),
                     captured(k, s, "moe")});
  }
  if (label == "moe_act") return dense;
  if (label == "shared_experts") {
    return first_of({dense,
                     when(!k.moe_shared_expert_intermediate_size, "the layer has no shared expert"),
                     captured(k, s, "moe")});
  }
  if (label == "mla_up_proj") return when(!k.multi_latent_attention, "the layer has no MLA");
  if (label == "gdn_norm_out") {
    return when(kind.softmax_attention, "the layer has no gated delta net");
  }
  return {};
}

}  // namespace refrain::config
