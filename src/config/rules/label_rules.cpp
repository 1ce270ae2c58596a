// Recompute by labels: which are known, what each needs, and where they do nothing.
#include <algorithm>

#include "config/rules/label_effect.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr DialectSet kOurs = DialectSet(kRefrain);

// Which labels a dialect knows (`recompute_modules` of its TransformerConfig); `pointwise` is ours.
struct KnownLabel {
  std::string_view name;
  DialectSet dialects;
};
constexpr KnownLabel kLabels[] = {
    {"core_attn", kEverywhere},
    {"layernorm", kEverywhere},
    {"mlp", kEverywhere},
    {"moe", kEverywhere},
    {"moe_act", kEverywhere},
    {"mla_up_proj", kEverywhere},
    {"shared_experts", since(kMcore_0_14_0)},
    {"gdn_norm_out", since(kMcore_0_19_2)},
    {"mhc", kOurs},
    {"gdp_in_proj", kOurs},
    {"gdp_qkv", kOurs},
    {"pointwise", kOurs},
};

std::vector<std::string> labels_of(Dialect dialect) {
  std::vector<std::string> names;
  for (const KnownLabel& label : kLabels) {
    if (label.dialects.has(dialect)) names.emplace_back(label.name);
  }
  return names;
}

/// Who knows the label, or which one is near.
std::string hint(const std::string& word, const std::vector<std::string>& known) {
  for (const KnownLabel& label : kLabels) {
    if (label.name == word) return fmt::format(" (known to {})", to_text(label.dialects));
  }
  const auto near = nearest(word, known);
  return near ? fmt::format(" (did you mean {}?)", *near) : "";
}

Complaint unknown_labels(const Knobs& k, const Context& s) {
  if (!selective(k) || !k.recompute_modules) return {};
  const std::vector<std::string> known = labels_of(s.dialect);
  if (k.recompute_modules->is_text) {
    return fmt::format("recompute_modules must be a list: the text {}",
                       in_quotes(k.recompute_modules->words.at(0)));
  }
  std::vector<std::string> told;
  for (const std::string& word : k.recompute_modules->words) {
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    told.push_back(in_quotes(word) + hint(word, known));
  }
  if (told.empty()) return {};
  return fmt::format("recompute_modules must be some of {}: {}", joined(known), joined(told));
}

std::vector<Remedy> without_unknown_labels(const Knobs& k, const Context&) {
  WordList known;
  for (const std::string& word : k.recompute_modules.value_or(WordList{}).words) {
    for (const KnownLabel& label : kLabels) {
      if (label.name == word && label.dialects == kEverywhere) known.words.push_back(word);
    }
  }
  return {setting("drop the unknown labels", {{"recompute_modules", known.words}})};
}

std::vector<Remedy> drop_label(const Knobs& k, std::string_view label) {
  const Value rest = without(k.recompute_modules, label);
  std::vector<Remedy> remedies;
  if (!rest.empty()) {
    remedies.push_back(setting(fmt::format("drop {}", label), {{"recompute_modules", rest}}));
  }
  remedies.push_back(setting("recompute nothing", {{"recompute_granularity", nullptr}}));
  return remedies;
}

void label_core_attn(Knobs& k, const Context&) { k.recompute_modules = WordList{{"core_attn"}}; }

/// Labels that do nothing in any layer, and why in the last one; the model must be told.
Complaint labels_without_module(const Knobs& k, const Context& s) {
  const std::vector<LayerKind> kinds = layer_kinds(k);
  if (!selective(k) || !k.recompute_modules || kinds.empty()) return {};
  std::vector<std::string> told;
  for (const std::string& label : k.recompute_modules->words) {
    std::optional<std::string> reason;
    const bool idle = std::all_of(kinds.begin(), kinds.end(), [&](LayerKind kind) {
      reason = inactive_because(label, k, kind, s);
      return reason.has_value();
    });
    if (idle) told.push_back(fmt::format("{} ({})", label, *reason));
  }
  if (told.empty()) return {};
  return fmt::format("no layer has what these labels recompute: {}", joined(told));
}

/// Layers of a chunk where they are split evenly; 0 where that is not told.
int64_t layers_of_chunk(const Knobs& k) {
  const int64_t stages = k.pipeline_model_parallel_size *
                         std::max<int64_t>(1, k.virtual_pipeline_model_parallel_size.value_or(1));
  if (stages < 1 || k.pipeline_model_parallel_layout || k.num_layers_in_first_pipeline_stage ||
      k.num_layers_in_last_pipeline_stage) {
    return 0;
  }
  return k.num_layers / stages;
}

bool quantised_norm_or_activation(const Knobs& k) {
  return quantised(k.fp8) && (recomputes(k, "moe_act") || recomputes(k, "layernorm"));
}

constexpr Rule kRules[] = {
    {.id = "recompute.default-labels",
     .dialects = kEverywhere,
     .outcome = kRewrite,
     .because = "Null labels mean core attention, the one module that fused kernels recompute "
                "anyway.",
     .remedy = "name the labels, or []",
     .knobs = "recompute_modules recompute_granularity moe_layer_recompute",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.recompute_modules || (!selective(k) && !k.moe_layer_recompute)) return {};
       return "recompute_modules becomes [core_attn]: it is not set";
     },
     .rewrite = label_core_attn},
    {.id = "recompute.default-labels-unread",
     .dialects = kEverywhere,
     .outcome = kFill,
     .because = "Null labels mean core attention, also where nobody reads them.",
     .remedy = "",
     .knobs = "recompute_modules",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.recompute_modules) return {};
       return "recompute_modules becomes [core_attn], which nothing reads";
     },
     .rewrite = label_core_attn},
    {.id = "recompute.unknown-label",
     .dialects = kEverywhere,
     .outcome = kAssertionError,
     .because = "Each label names a module that this dialect can recompute.",
     .remedy = "use labels of this dialect",
     .knobs = "recompute_modules",
     .broken = unknown_labels,
     .remedies = without_unknown_labels},
    {.id = "recompute.moe-act-needs-grouped-gemm",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "The experts' activation can be recomputed where all experts are one kernel.",
     .remedy = "moe_grouped_gemm=true, or drop moe_act",
     .knobs = "recompute_modules moe_grouped_gemm",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "moe_act") || k.moe_grouped_gemm) return {};
       return "moe_act needs moe_grouped_gemm: it is false";
     },
     .remedies =
         [](const Knobs& k, const Context&) {
           std::vector<Remedy> remedies = drop_label(k, "moe_act");
           if (k.num_moe_experts) {
             remedies.insert(remedies.begin(),
                             setting("moe_grouped_gemm=true", {{"moe_grouped_gemm", true}}));
           }
           return remedies;
         }},
    {.id = "recompute.mla-up-proj-needs-mla",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Only multi-latent attention has up-projections.",
     .remedy = "drop mla_up_proj, or set multi_latent_attention",
     .knobs = "recompute_modules multi_latent_attention",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "mla_up_proj") || k.multi_latent_attention) return {};
       return "mla_up_proj needs multi_latent_attention: it is false";
     },
     .remedies = [](const Knobs& k, const Context&) { return drop_label(k, "mla_up_proj"); }},
    {.id = "recompute.gdn-norm-needs-gdn",
     .dialects = since(kMcore_0_19_2),
     .outcome = kValueError,
     .because = "Only the gated delta net has this norm.",
     .remedy = "drop gdn_norm_out, or set experimental_attention_variant",
     .knobs = "recompute_modules experimental_attention_variant",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!recomputes(k, "gdn_norm_out")) return {};
       const auto& variant = k.experimental_attention_variant;
       if (variant == "gated_delta_net") return {};
       if (s.dialect == kRefrain && (variant == "gdn" || variant == "gdn2")) return {};
       return fmt::format("gdn_norm_out needs experimental_attention_variant gated_delta_net: {}",
                          variant ? in_quotes(*variant) : "null");
     },
     .remedies = [](const Knobs& k, const Context&) { return drop_label(k, "gdn_norm_out"); }},
    {.id = "recompute.core-attn-note",
     .dialects = kEverywhere,
     .outcome = kNote,
     .because = "A fused attention kernel keeps no scores: it recomputes them in its own backward, "
                "so the label costs a forward of attention and frees next to nothing.",
     .remedy = "drop core_attn where attention is fused",
     .knobs = "recompute_modules attention_backend transformer_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "core_attn") || k.attention_backend == "unfused" ||
           k.attention_backend == "local" || k.transformer_impl == "local") {
         return {};
       }
       return "core_attn frees next to nothing with fused attention";
     }},
    {.id = "recompute.shared-experts-and-overlap",
     .dialects = since(kMcore_0_14_0),
     .outcome = kValueError,
     .because = "Overlapped shared experts run in pieces, which no checkpoint surrounds.",
     .remedy = "moe_shared_expert_overlap=false, or drop shared_experts",
     .knobs = "recompute_modules moe_shared_expert_overlap moe_shared_expert_intermediate_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "shared_experts") || !k.moe_shared_expert_intermediate_size ||
           !k.moe_shared_expert_overlap) {
         return {};
       }
       return "shared_experts excludes moe_shared_expert_overlap";
     },
     .remedies =
         [](const Knobs& k, const Context&) {
           std::vector<Remedy> remedies = drop_label(k, "shared_experts");
           remedies.insert(remedies.begin(), setting("moe_shared_expert_overlap=false",
                                                     {{"moe_shared_expert_overlap", false}}));
           return remedies;
         }},
    {.id = "recompute.fp8-norm-or-activation",
     .dialects = DialectSet(kMcore_0_13_1),
     .outcome = kValueError,
     .because = "This release cannot restore the quantised inputs that FP8 saves.",
     .remedy = "drop moe_act and layernorm",
     .knobs = "recompute_modules fp8",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!quantised_norm_or_activation(k)) return {};
       return fmt::format("moe_act and layernorm exclude fp8: it is {}", *k.fp8);
     }},
    {.id = "recompute.delayed-scaling",
     .dialects = since(kMcore_0_14_0),
     .outcome = kValueError,
     .because = "Delayed scaling saves the quantised input; recompute wants the original.",
     .remedy = "another fp8_recipe, or drop moe_act and layernorm",
     .knobs = "recompute_modules fp8 fp8_recipe",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!quantised_norm_or_activation(k) || k.fp8_recipe != "delayed") return {};
       return "moe_act and layernorm exclude fp8_recipe delayed";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("fp8_recipe=tensorwise", {{"fp8_recipe", "tensorwise"}}),
               setting("recompute_granularity=null", {{"recompute_granularity", nullptr}})};
     }},
    {.id = "recompute.fp8-needs-te",
     .dialects = since(kMcore_0_14_0),
     .outcome = kValueError,
     .because = "TransformerEngine saves original inputs on demand from 2.6.0 on.",
     .remedy = "TransformerEngine 2.6.0 or later, or drop moe_act and layernorm",
     .knobs = "recompute_modules fp8 te_version fp8_recipe",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!quantised_norm_or_activation(k) || k.fp8_recipe == "delayed" ||
           s.te >= TeVersion{2, 6, 0}) {
         return {};
       }
       return fmt::format("moe_act and layernorm with fp8 need TransformerEngine 2.6.0: it is {}",
                          k.te_version ? *k.te_version : "not installed");
     }},
    {.id = "recompute.moe-layer-and-full",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "moe_layer_recompute means selective.",
     .remedy = "moe_layer_recompute=false",
     .knobs = "moe_layer_recompute recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_layer_recompute || !full(k)) return {};
       return "moe_layer_recompute excludes recompute_granularity full";
     }},
    {.id = "recompute.moe-layer-deprecated",
     .dialects = kEverywhere,
     .outcome = kRewrite,
     .because = "The old switch is spelled as a label now; what it adds is not checked again.",
     .remedy = "recompute_granularity=selective with moe among recompute_modules",
     .knobs = "moe_layer_recompute recompute_granularity recompute_modules",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_layer_recompute || full(k)) return {};
       return "recompute_granularity becomes selective and moe joins recompute_modules";
     },
     .rewrite =
         [](Knobs& k, const Context&) {
           k.recompute_granularity = "selective";
           if (!k.recompute_modules->has("moe")) k.recompute_modules->words.emplace_back("moe");
         }},
    {.id = "recompute.inactive-label",
     .dialects = kEverywhere,
     .outcome = kInactive,
     .because =
         "A label without its module is accepted and does nothing: mlp where every layer has "
         "experts, layernorm where norms are fused, and the like.",
     .remedy = "drop the label",
     .knobs = "recompute_modules num_moe_experts moe_layer_freq transformer_impl",
     .broken = labels_without_module},
    {.id = "recompute.layernorm-alone",
     .dialects = kEverywhere,
     .outcome = kNote,
     .because = "Norm outputs are a small part of what a layer saves, and fused norms save none.",
     .remedy = "add labels that free more, such as moe_act, mlp or pointwise",
     .knobs = "recompute_modules",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!selective(k) || k.recompute_modules != WordList{{"layernorm"}, false}) return {};
       return "layernorm alone frees next to nothing";
     }},
    {.id = "recompute.attention-replayed-twice",
     .dialects = kEverywhere - kOurs,
     .outcome = kNote,
     .because = "Megatron replays regions: core_attn beside mlp adds a forward of attention and "
                "frees nothing that fused attention would keep.",
     .remedy = "mlp alone",
     .knobs = "recompute_modules",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "mlp") || !recomputes(k, "core_attn")) return {};
       return "core_attn beside mlp is slower than mlp alone and frees no more";
     }},
    {.id = "recompute.one-group",
     .dialects = kEverywhere,
     .outcome = kNote,
     .because = "In backward a group's layers are all live at once: a group of every layer of the "
                "chunk has the peak of no recompute.",
     .remedy = "recompute_num_layers=1",
     .knobs = "recompute_num_layers recompute_method num_layers pipeline_model_parallel_size "
              "virtual_pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const int64_t layers = layers_of_chunk(k);
       const int64_t group = k.recompute_num_layers.value_or(0);
       if (!full(k) || k.recompute_method != "uniform" || layers < 2 || group < layers) return {};
       return fmt::format("one group holds all {} layers of a chunk: its backward saves nothing",
                          layers);
     }},
    {.id = "recompute.block-of-all",
     .dialects = kEverywhere,
     .outcome = kNote,
     .because = "Block recomputes at most the layers that a chunk has.",
     .remedy = "recompute_num_layers up to the layers of a chunk",
     .knobs = "recompute_num_layers recompute_method num_layers pipeline_model_parallel_size "
              "virtual_pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const int64_t layers = layers_of_chunk(k);
       const int64_t block = k.recompute_num_layers.value_or(0);
       if (!full(k) || k.recompute_method != "block" || layers < 1 || block <= layers) return {};
       return fmt::format("all {} layers of a chunk are recomputed: recompute_num_layers is {}",
                          layers, block);
     }},
    {.id = "mhc.needs-connections",
     .dialects = kOurs,
     .outcome = kValueError,
     .because = "Only hyper-connections have what mhc recomputes.",
     .remedy = "enable_mhc_connections=true, or drop mhc",
     .knobs = "recompute_modules enable_mhc_connections",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "mhc") || k.enable_mhc_connections) return {};
       return "mhc needs enable_mhc_connections: it is false";
     },
     .remedies = [](const Knobs& k, const Context&) { return drop_label(k, "mhc"); }},
    {.id = "mhc.and-mlp",
     .dialects = kOurs,
     .outcome = kValueError,
     .because = "Both would recompute the same part of a layer.",
     .remedy = "drop mlp or mhc",
     .knobs = "recompute_modules",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "mhc") || !recomputes(k, "mlp")) return {};
       return "mhc excludes mlp";
     },
     .remedies = [](const Knobs& k, const Context&) { return drop_label(k, "mlp"); }},
    {.id = "mhc.block-size",
     .dialects = kOurs,
     .outcome = kValueError,
     .because = "It counts layers.",
     .remedy = "mhc_recompute_layer_num=null for one block a chunk",
     .knobs = "mhc_recompute_layer_num",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "mhc") || k.mhc_recompute_layer_num.value_or(1) >= 1) return {};
       return fmt::format("mhc_recompute_layer_num must be 1 or more: {}",
                          *k.mhc_recompute_layer_num);
     }},
    {.id = "mhc.and-offload",
     .dialects = kOurs,
     .outcome = kNotImplementedError,
     .because = "Their hooks on saved tensors do not know of each other.",
     .remedy = "fine_grained_activation_offloading=false, or drop mhc",
     .knobs = "recompute_modules fine_grained_activation_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "mhc") || !k.fine_grained_activation_offloading) return {};
       return "mhc excludes fine_grained_activation_offloading";
     }},
    {.id = "mhc.and-multi-token-prediction",
     .dialects = kOurs,
     .outcome = kValueError,
     .because = "Prediction heads read one residual stream.",
     .remedy = "mtp_num_layers=null",
     .knobs = "enable_mhc_connections mtp_num_layers",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_mhc_connections || !k.mtp_num_layers) return {};
       return fmt::format("enable_mhc_connections excludes mtp_num_layers: {}", *k.mtp_num_layers);
     }},
    {.id = "mhc.and-full",
     .dialects = kOurs,
     .outcome = kNotImplementedError,
     .because = "A layer of several streams has no single input to start from.",
     .remedy = "selective with mhc",
     .knobs = "enable_mhc_connections recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_mhc_connections || !full(k)) return {};
       return "enable_mhc_connections excludes recompute_granularity full";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("selective with mhc", {{"recompute_granularity", "selective"},
                                              {"recompute_method", nullptr},
                                              {"recompute_num_layers", nullptr},
                                              {"recompute_modules", {"mhc"}}})};
     }},
    {.id = "mhc.and-pipeline",
     .dialects = kOurs,
     .outcome = kNotImplementedError,
     .because = "Pipeline ranks send one stream.",
     .remedy = "pipeline_model_parallel_size=1",
     .knobs = "enable_mhc_connections pipeline_model_parallel_size fp32_residual_connection",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_mhc_connections) return {};
       if (k.pipeline_model_parallel_size <= 1 && !k.fp32_residual_connection) return {};
       return "enable_mhc_connections excludes pipeline ranks and a float32 residual stream";
     }},
};

}  // namespace

std::span<const Rule> label_rules() { return kRules; }

}  // namespace refrain::config
