#include "config/rules/label_effect.h"

#include <algorithm>

#include "config/rules/graph_words.h"

namespace refrain::config {
namespace {

using enum LabelList;

/// TransformerEngine's specs fuse a norm into the linear layer that follows it.
bool has_input_norm(const Knobs& k) {
  return k.transformer_impl == "local" || (k.multi_latent_attention && !k.mla_down_proj_fusion);
}
bool has_mlp_norm(const Knobs& k, LayerKind kind) {
  return k.transformer_impl == "local" || kind.has_experts;
}

/// A plain checkpoint inside a captured layer or module is passed over.
bool is_captured(const Knobs& k, const Context& s, std::string_view module) {
  if (!per_layer(k, s) || s.dialect < Dialect::kMcore_0_16_1) return false;
  return captures_nothing_named(k, s) || captures(k, s, module);
}

/// The norm's output is what a graph of the router hands over, so it stays where it is.
bool router_holds_norm(const Knobs& k, LayerKind kind, const Context& s) {
  const bool captured =
      kind.has_experts && k.cuda_graph_impl == "transformer_engine" && captures(k, s, "moe_router");
  return captured && (k.moe_shared_expert_overlap || !captures(k, s, "moe_preprocess"));
}

bool cuts_mlp_norm_off(const Knobs& k, LayerKind kind, const Context& s) {
  const bool attention = captures(k, s, "attn");
  return kind.has_experts ? attention || captures(k, s, "moe_router")
                          : attention != captures(k, s, "mlp");
}

struct Reason {
  LabelList list;
  std::string_view labels;  // by blanks
  std::string_view text;
  bool (*holds)(const Knobs&, LayerKind, const Context&);
};

constexpr std::string_view kPassedOver =
    "inside a captured graph the checkpoint is passed over and everything is saved";
constexpr std::string_view kFused = "the norm is fused into the linear layer behind it";

// Of a label's reasons the first that holds is told.
constexpr Reason kReasons[] = {
    {kRecompute, "core_attn", "the layer has no softmax attention",
     [](const Knobs&, LayerKind kind, const Context&) { return !kind.softmax_attention; }},
    {kRecompute, "core_attn", kPassedOver,
     [](const Knobs& k, LayerKind, const Context& s) { return is_captured(k, s, "attn"); }},
    {kRecompute, "layernorm", "both norms are fused into the linear layers behind them",
     [](const Knobs& k, LayerKind kind, const Context&) {
       return !has_input_norm(k) && !has_mlp_norm(k, kind);
     }},
    {kRecompute, "layernorm",
     "one norm is fused, and a captured router holds the other's output in its graph",
     [](const Knobs& k, LayerKind kind, const Context& s) {
       return !has_input_norm(k) && router_holds_norm(k, kind, s);
     }},
    {kRecompute, "mlp", "the layer has experts in place of the MLP",
     [](const Knobs&, LayerKind kind, const Context&) { return kind.has_experts; }},
    {kRecompute, "mlp", kPassedOver,
     [](const Knobs& k, LayerKind, const Context& s) { return is_captured(k, s, "mlp"); }},
    {kRecompute, "moe moe_act shared_experts", "the layer is dense",
     [](const Knobs&, LayerKind kind, const Context&) { return !kind.has_experts; }},
    {kRecompute, "moe", "local graphs pass it over unless the router is captured",
     [](const Knobs& k, LayerKind, const Context& s) {
       return k.cuda_graph_impl == "local" && !captures(k, s, "moe_router");
     }},
    {kRecompute, "shared_experts", "the layer has no shared expert",
     [](const Knobs& k, LayerKind, const Context&) {
       return !k.moe_shared_expert_intermediate_size;
     }},
    {kRecompute, "moe shared_experts", kPassedOver,
     [](const Knobs& k, LayerKind, const Context& s) { return is_captured(k, s, "moe"); }},
    {kRecompute, "mla_up_proj", "the layer has no MLA",
     [](const Knobs& k, LayerKind, const Context&) { return !k.multi_latent_attention; }},
    {kRecompute, "gdn_norm_out", "the layer has no gated delta net",
     [](const Knobs&, LayerKind kind, const Context&) { return kind.softmax_attention; }},
    {kOffload, "attn_norm", kFused,
     [](const Knobs& k, LayerKind, const Context&) { return !has_input_norm(k); }},
    {kOffload, "attn_norm", "captured attention holds the norm in its graph",
     [](const Knobs& k, LayerKind, const Context& s) {
       return names_modules(s) && per_layer(k, s) && captures(k, s, "attn");
     }},
    {kOffload, "mlp_norm", kFused,
     [](const Knobs& k, LayerKind kind, const Context&) { return !has_mlp_norm(k, kind); }},
    {kOffload, "mlp_norm",
     "a graph captures only a part of what lies between the norm and its residual",
     [](const Knobs& k, LayerKind kind, const Context& s) {
       return names_modules(s) && per_layer(k, s) && cuts_mlp_norm_off(k, kind, s);
     }},
    {kOffload, "expert_fc1 moe_act fused_group_mlp", "the layer is dense",
     [](const Knobs&, LayerKind kind, const Context&) { return !kind.has_experts; }},
};

bool is_of(const Reason& reason, LabelList list, std::string_view label) {
  return reason.list == list && is_among(reason.labels, label);
}

}  // namespace

std::optional<std::string> inactive_because(LabelList list, std::string_view label, const Knobs& k,
                                            LayerKind kind, const Context& s) {
  for (const Reason& reason : kReasons) {
    if (is_of(reason, list, label) && reason.holds(k, kind, s)) return std::string(reason.text);
  }
  return {};
}

std::vector<std::string_view> inactive_reasons(LabelList list, std::string_view label) {
  std::vector<std::string_view> texts;
  for (const Reason& reason : kReasons) {
    if (is_of(reason, list, label)) texts.push_back(reason.text);
  }
  return texts;
}

std::vector<std::string> idle_labels(LabelList list, const WordList& words, const Knobs& k,
                                     const Context& s) {
  std::vector<LayerKind> kinds = layer_kinds(k);
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::vector<std::string> told;
  for (const std::string& label : words.words) {
    std::optional<std::string> reason;
    const bool idle =
        !kinds.empty() && std::all_of(kinds.begin(), kinds.end(), [&](LayerKind kind) {
          reason = inactive_because(list, label, k, kind, s);
          return reason.has_value();
        });
    if (idle) told.push_back(fmt::format("{} ({})", label, *reason));
  }
  return told;
}

}  // namespace refrain::config
