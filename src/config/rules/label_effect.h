// Whether a recompute label does anything in a layer: what users misread most.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/rules/rule.h"

namespace refrain::config {

/// What a decoder layer is made of, as far as labels care.
struct LayerKind {
  bool has_experts = false;
  bool softmax_attention = true;  // false: a linear-attention mixer

  bool operator==(const LayerKind&) const = default;
};

/// The kind of each decoder layer, from num_moe_experts, moe_layer_freq and linear_attention_freq
/// (Megatron-Core's block specs); empty where the model is not told.
std::vector<LayerKind> layer_kinds(const Knobs& k);

/// "dense", "expert", "dense linear-attention", ...
std::string to_text(LayerKind kind);

/// Why the label does nothing in a layer of that kind; nothing where it is active.
/// Source: Megatron-Core's layer specs and module constructors; see docs/rules.md.
std::optional<std::string> inactive_because(std::string_view label, const Knobs& k, LayerKind kind,
                                            const Context& s);

}  // namespace refrain::config
