// Recompute by labels: which are known, what each needs, and where they do nothing.
#include <algorithm>

#include "config/rules/known_labels.h"
#include "config/rules/label_effect.h"
#include "config/rules/recompute/parts.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

void label_core_attn(Knobs& k, const Context&) { k.recompute_modules = WordList{{"core_attn"}}; }

Complaint labels_without_module(const Knobs& k, const Context& s) {
  if (!selective(k) || !k.recompute_modules) return {};
  const auto idle = idle_labels(LabelList::kRecompute, *k.recompute_modules, k, s);
  if (idle.empty()) return {};
  return fmt::format("recompute_modules holds what does nothing in any layer: {}", joined(idle));
}

/// Layers of the largest chunk; 0 where the split is not told.
int64_t most_layers_of_a_chunk(const Knobs& k) {
  int64_t most = 0;
  for (const Chunk& chunk : chunks_of(k)) most = std::max(most, chunk.layers);
  return most;
}

/// Python looks for moe in a text as in a list: "moe_act" holds it.
bool text_holds_moe(const Knobs& k) {
  return k.recompute_modules->is_text &&
         k.recompute_modules->words[0].find("moe") != std::string::npos;
}

bool quantised_norm_or_activation(const Knobs& k) {
  return is_told(k.fp8) && (recomputes(k, "moe_act") || recomputes(k, "layernorm"));
}

constexpr Rule kLabelRules[] = {
    {.id = "recompute.default-labels",
     .dialects = kEverywhere,
     .outcome = kRewrite,
     .because = "Null labels mean core attention, the one module that fused kernels recompute "
                "anyway.",
     .remedy = "name the labels, or []",
     .knobs = "recompute_modules recompute_granularity moe_layer_recompute",
     .labels = "core_attn",
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
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!selective(k) || !k.recompute_modules) return {};
       return wrong_labels(*k.recompute_modules, LabelList::kRecompute, s.dialect);
     },
     .remedies = [](const Knobs& k, const Context& s) -> std::vector<Remedy> {
       return {drop_wrong_labels(k.recompute_modules.value_or(WordList{}), LabelList::kRecompute,
                                 s.dialect)};
     }},
    {.id = "recompute.moe-act-needs-grouped-gemm",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "The experts' activation can be recomputed where all experts are one kernel.",
     .remedy = "moe_grouped_gemm=true, or drop moe_act",
     .knobs = "recompute_modules moe_grouped_gemm",
     .labels = "moe_act",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "moe_act") || k.moe_grouped_gemm) return {};
       return "moe_act needs moe_grouped_gemm: it is false";
     },
     .remedies =
         [](const Knobs& k, const Context&) {
           const std::vector<Remedy> drop = drop_label(k, "moe_act");
           if (!k.num_moe_experts) return drop;
           return before({setting("moe_grouped_gemm=true", {{"moe_grouped_gemm", true}})}, drop);
         }},
    {.id = "recompute.mla-up-proj-needs-mla",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Only multi-latent attention has up-projections.",
     .remedy = "drop mla_up_proj, or set multi_latent_attention",
     .knobs = "recompute_modules multi_latent_attention",
     .labels = "mla_up_proj",
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
     .labels = "gdn_norm_out",
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
     .labels = "core_attn",
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
     .labels = "shared_experts",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "shared_experts") || !k.moe_shared_expert_intermediate_size ||
           !k.moe_shared_expert_overlap) {
         return {};
       }
       return "shared_experts excludes moe_shared_expert_overlap";
     },
     .remedies =
         [](const Knobs& k, const Context&) {
           return before(
               {setting("moe_shared_expert_overlap=false", {{"moe_shared_expert_overlap", false}})},
               drop_label(k, "shared_experts"));
         }},
    {.id = "recompute.fp8-norm-or-activation",
     .dialects = DialectSet(kMcore_0_13_1),
     .outcome = kValueError,
     .because = "This release cannot restore the quantised inputs that FP8 saves.",
     .remedy = "drop moe_act and layernorm",
     .knobs = "recompute_modules fp8",
     .labels = "moe_act layernorm",
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
     .labels = "moe_act layernorm",
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
     .labels = "moe_act layernorm",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!quantised_norm_or_activation(k) || k.fp8_recipe == "delayed" ||
           s.te >= TeVersion{2, 6, 0}) {
         return {};
       }
       return fmt::format("moe_act and layernorm with fp8 need TransformerEngine 2.6.0: it is {}",
                          te_text(k));
     }},
    {.id = "recompute.moe-layer-and-full",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "moe_layer_recompute means selective.",
     .remedy = "moe_layer_recompute=false",
     .knobs = "moe_layer_recompute recompute_granularity",
     .labels = "moe",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_layer_recompute || !full(k)) return {};
       return "moe_layer_recompute excludes recompute_granularity full";
     }},
    {.id = "recompute.moe-layer-and-text",
     .dialects = kEverywhere,
     .outcome = kAttributeError,
     .because = "The old switch appends moe to the list, and a text has no append.",
     .remedy = "recompute_modules as a list, or moe_layer_recompute=false",
     .knobs = "moe_layer_recompute recompute_modules",
     .labels = "moe",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_layer_recompute || full(k) || text_holds_moe(k) ||
           !k.recompute_modules->is_text) {
         return {};
       }
       return fmt::format("recompute_modules must be a list with moe_layer_recompute: the text {}",
                          in_quotes(k.recompute_modules->words[0]));
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("moe in a list", {{"recompute_modules", {"moe"}}})};
     }},
    {.id = "recompute.moe-layer-deprecated",
     .dialects = kEverywhere,
     .outcome = kRewrite,
     .because = "The old switch is spelled as a label now; what it adds is not checked again.",
     .remedy = "recompute_granularity=selective with moe among recompute_modules",
     .knobs = "moe_layer_recompute recompute_granularity recompute_modules",
     .labels = "moe",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_layer_recompute || full(k)) return {};
       if (k.recompute_modules->is_text) return "recompute_granularity becomes selective";
       return "recompute_granularity becomes selective and moe joins recompute_modules";
     },
     .rewrite =
         [](Knobs& k, const Context&) {
           k.recompute_granularity = "selective";
           if (k.recompute_modules->is_text || k.recompute_modules->has("moe")) return;
           k.recompute_modules->words.emplace_back("moe");
         }},
    {.id = "recompute.inactive-label",
     .dialects = kEverywhere,
     .outcome = kInactive,
     .because =
         "A label without its module is accepted and does nothing: mlp where every layer has "
         "experts, layernorm where norms are fused, and the like.",
     .remedy = "drop the label",
     .knobs =
         "recompute_modules num_moe_experts moe_layer_freq moe_shared_expert_intermediate_size "
         "multi_latent_attention transformer_impl cuda_graph_impl",
     .broken = labels_without_module},
    {.id = "recompute.layernorm-alone",
     .dialects = kEverywhere,
     .outcome = kNote,
     .because = "Norm outputs are a small part of what a layer saves, and fused norms save none.",
     .remedy = "add labels that free more, such as moe_act, mlp or pointwise",
     .knobs = "recompute_modules",
     .labels = "layernorm",
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
     .labels = "core_attn mlp",
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
       const int64_t group = k.recompute_num_layers.value_or(0);
       if (!full(k) || k.recompute_method != "uniform" || group < 2) return {};
       const int64_t layers = most_layers_of_a_chunk(k);
       if (layers < 2 || group < layers) return {};
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
       const int64_t block = k.recompute_num_layers.value_or(0);
       if (!full(k) || k.recompute_method != "block" || block < 2) return {};
       const int64_t layers = most_layers_of_a_chunk(k);
       if (layers < 1 || block <= layers) return {};
       return fmt::format("all {} layers of a chunk are recomputed: recompute_num_layers is {}",
                          layers, block);
     }},
};

}  // namespace

std::span<const Rule> label_rules() { return kLabelRules; }

}  // namespace refrain::config
