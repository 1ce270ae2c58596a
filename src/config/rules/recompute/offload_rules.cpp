// Fine-grained offload and the paged stash of expert activations.
#include "config/rules/known_labels.h"
#include "config/rules/label_effect.h"
#include "config/rules/recompute/parts.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

std::vector<Remedy> offload_off(const Knobs&, const Context&) {
  return {setting("fine_grained_activation_offloading=false",
                  {{"fine_grained_activation_offloading", false}})};
}

/// Of the labels inside an expert that the dialect knows, those that are named.
std::string inside_experts(const Knobs& k, Dialect dialect) {
  std::vector<std::string> told;
  for (const ModuleLabel& label : label_table()) {
    if (!is_inside_experts(label) || !dialects_of(label).has(dialect)) continue;
    if (has(k.offload_modules, label.name)) told.emplace_back(label.name);
  }
  return joined(told);
}

constexpr std::string_view kBrackets =
    "Only TransformerEngine's layers have the brackets around modules.";
constexpr std::string_view kUseTransformerEngine = "transformer_impl=transformer_engine";
constexpr std::string_view kImplementationKnobs =
    "fine_grained_activation_offloading transformer_impl";

Complaint other_layers(const Knobs& k, const Context&) {
  if (!k.fine_grained_activation_offloading || k.transformer_impl == "transformer_engine") {
    return {};
  }
  return fmt::format(
      "fine_grained_activation_offloading needs transformer_impl transformer_engine: {}",
      k.transformer_impl);
}

constexpr Rule kOffloadRules[] = {
    {.id = "offload.two-kinds",
     .dialects = since(kMcore_0_16_1),
     .outcome = kAssertionError,
     .because = "Both would take the same saved tensors.",
     .remedy = "cpu_offloading=false, or fine_grained_activation_offloading=false",
     .knobs = "fine_grained_activation_offloading cpu_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fine_grained_activation_offloading || !k.cpu_offloading) return {};
       return "fine_grained_activation_offloading excludes cpu_offloading: both are true";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("cpu_offloading=false", {{"cpu_offloading", false}})};
     }},
    {.id = "offload.needs-transformer-engine",
     .dialects = DialectSet(kBridge),
     .outcome = kValueError,
     .because = kBrackets,
     .remedy = kUseTransformerEngine,
     .knobs = kImplementationKnobs,
     .broken = other_layers},
    {.id = "offload.needs-transformer-engine-flag",
     .dialects = DialectSet(kRefrain),
     .outcome = kAssertionError,
     .because = kBrackets,
     .remedy = kUseTransformerEngine,
     .knobs = kImplementationKnobs,
     .broken = other_layers},
    {.id = "offload.environment",
     .dialects = since(kBridge),
     .outcome = kNote,
     .because =
         "From TransformerEngine 2.10.0 on its newer offload would take weights along; "
         "Megatron-LM and Megatron-Bridge raise an error without the variable, which a check "
         "cannot see.",
     .remedy = "export NVTE_CPU_OFFLOAD_V1=1",
     .knobs = "fine_grained_activation_offloading te_version",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.fine_grained_activation_offloading || s.te < TeVersion{2, 10, 0}) return {};
       return "fine_grained_activation_offloading needs NVTE_CPU_OFFLOAD_V1=1 in the environment";
     }},
    {.id = "offload.no-modules",
     .dialects = since(kMcore_0_16_1),
     .outcome = kAssertionError,
     .because = "Fine-grained offload offloads what is named.",
     .remedy = "offload_modules=[core_attn], or fine_grained_activation_offloading=false",
     .knobs = "offload_modules fine_grained_activation_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fine_grained_activation_offloading) return {};
       if (k.offload_modules && !names_nothing(*k.offload_modules)) return {};
       return fmt::format("offload_modules must name a module: {}",
                          k.offload_modules ? "[]" : "null");
     },
     .remedies = offload_off},
    {.id = "offload.unknown-label",
     .dialects = since(kMcore_0_16_1),
     .outcome = kAssertionError,
     .because = "Each label names a module that this dialect can offload.",
     .remedy = "use labels of this dialect",
     .knobs = "offload_modules",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.fine_grained_activation_offloading || !k.offload_modules) return {};
       return wrong_labels(*k.offload_modules, LabelList::kOffload, s.dialect);
     },
     .remedies = [](const Knobs& k, const Context& s) -> std::vector<Remedy> {
       return before({drop_wrong_labels(k.offload_modules.value_or(WordList{}), LabelList::kOffload,
                                        s.dialect)},
                     offload_off(k, s));
     }},
    {.id = "offload.attn-proj-alone",
     .dialects = since(kMcore_0_16_1),
     .outcome = kValueError,
     .because = "The projection's input is core attention's output, which attention's backward "
                "reads as well.",
     .remedy = "offload core_attn too",
     .knobs = "offload_modules",
     .labels = "attn_proj core_attn",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads(k, "attn_proj") || offloads(k, "core_attn")) return {};
       return "attn_proj needs core_attn among offload_modules";
     },
     .remedies = [](const Knobs& k, const Context&) -> std::vector<Remedy> {
       std::vector<std::string> words = k.offload_modules->words;
       words.emplace_back("core_attn");
       return {setting("offload core_attn too", {{"offload_modules", words}})};
     }},
    {.id = "offload.recomputed-product-input",
     .dialects = DialectSet(kRefrain),
     .outcome = kValueError,
     .because = "gdp_in_proj drops the input of the convolution, so nothing is left to offload.",
     .remedy = "drop gdp_in_proj from recompute_modules, or gdp_qkv from offload_modules",
     .knobs = "offload_modules recompute_modules",
     .labels = "gdp_qkv gdp_in_proj",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads(k, "gdp_qkv") || !recomputes(k, "gdp_in_proj")) return {};
       return "offload of gdp_qkv excludes recomputed gdp_in_proj";
     },
     .remedies = [](const Knobs& k, const Context&) { return drop_label(k, "gdp_in_proj"); }},
    {.id = "offload.inside-recomputed-moe",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "A recomputed expert layer saves nothing inside that could be offloaded.",
     .remedy = "drop moe from recompute_modules, or the experts' labels from offload_modules",
     .knobs = "offload_modules recompute_modules fine_grained_activation_offloading",
     .labels = "moe expert_fc1 moe_act fused_group_mlp",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.fine_grained_activation_offloading || !recomputes(k, "moe")) return {};
       const std::string inside = inside_experts(k, s.dialect);
       if (inside.empty()) return {};
       return fmt::format("offload_modules excludes the inside of a recomputed moe: {}", inside);
     },
     .remedies = [](const Knobs& k, const Context&) -> std::vector<Remedy> {
       return before({setting("drop moe from recompute_modules",
                              {{"recompute_modules", without(k.recompute_modules, "moe")}})},
                     offload_off(k, {}));
     }},
    {.id = "offload.smallest-tensor",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "It counts elements.",
     .remedy = "0 or more",
     .knobs = "min_offloaded_tensor_size fine_grained_activation_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fine_grained_activation_offloading || k.min_offloaded_tensor_size >= 0) return {};
       return fmt::format("min_offloaded_tensor_size must be 0 or more: {}",
                          k.min_offloaded_tensor_size);
     }},
    {.id = "offload.fraction",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "It is a share.",
     .remedy = "0 to 1",
     .knobs = "activation_offload_fraction fine_grained_activation_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const double share = k.activation_offload_fraction;
       if (!k.fine_grained_activation_offloading || (share >= 0 && share <= 1)) return {};
       return fmt::format("activation_offload_fraction must be 0 to 1: {}", share);
     }},
    {.id = "offload.rank-delta",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "It counts bytes.",
     .remedy = "0 or more",
     .knobs = "delta_offload_bytes_across_pp_ranks fine_grained_activation_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fine_grained_activation_offloading || k.delta_offload_bytes_across_pp_ranks >= 0) {
         return {};
       }
       return fmt::format("delta_offload_bytes_across_pp_ranks must be 0 or more: {}",
                          k.delta_offload_bytes_across_pp_ranks);
     }},
    {.id = "offload.fused-mlp-needs-fuser",
     .dialects = since(kMcore_0_19_2),
     .outcome = kValueError,
     .because = "Only fused operations make the grouped MLP one module.",
     .remedy = "use_transformer_engine_op_fuser=true, or drop fused_group_mlp",
     .knobs = "offload_modules use_transformer_engine_op_fuser",
     .labels = "fused_group_mlp",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads(k, "fused_group_mlp") || k.use_transformer_engine_op_fuser) return {};
       return "fused_group_mlp needs use_transformer_engine_op_fuser: it is false";
     },
     .remedies = [](const Knobs& k, const Context&) -> std::vector<Remedy> {
       return before({setting("use_transformer_engine_op_fuser=true",
                              {{"use_transformer_engine_op_fuser", true}})},
                     offload_off(k, {}));
     }},
    {.id = "offload.fused-mlp-and-parts",
     .dialects = since(kMcore_0_19_2),
     .outcome = kValueError,
     .because = "The whole holds its parts.",
     .remedy = "drop expert_fc1 and moe_act, or fused_group_mlp",
     .knobs = "offload_modules",
     .labels = "fused_group_mlp expert_fc1 moe_act",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads(k, "fused_group_mlp")) return {};
       if (!offloads(k, "expert_fc1") && !offloads(k, "moe_act")) return {};
       return "fused_group_mlp excludes expert_fc1 and moe_act";
     },
     .remedies = [](const Knobs& k, const Context&) -> std::vector<Remedy> {
       return {setting("drop fused_group_mlp",
                       {{"offload_modules", without(k.offload_modules, "fused_group_mlp")}})};
     }},
    {.id = "offload.inactive-label",
     .dialects = since(kMcore_0_16_1),
     .outcome = kInactive,
     .because = "A label without its module is accepted and does nothing: the experts' in a dense "
                "model, a norm that is fused into the layer behind it, and the like.",
     .remedy = "drop the label",
     .knobs = "offload_modules num_moe_experts moe_layer_freq multi_latent_attention "
              "transformer_impl cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.fine_grained_activation_offloading || !k.offload_modules) return {};
       const auto idle = idle_labels(LabelList::kOffload, *k.offload_modules, k, s);
       if (idle.empty()) return {};
       return fmt::format("offload_modules holds what does nothing in any layer: {}", joined(idle));
     }},
    {.id = "offload.full-recompute",
     .dialects = since(kMcore_0_16_1),
     .outcome = kNote,
     .because = "No rule forbids it, and inside a recomputed region offload counts groups that "
                "save nothing.",
     .remedy = "offload or full recompute, not both",
     .knobs = "fine_grained_activation_offloading recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fine_grained_activation_offloading || !full(k)) return {};
       return "fine-grained offload inside fully recomputed layers is untested and saves nothing";
     }},
    {.id = "offload.recomputed-core-attn",
     .dialects = since(kMcore_0_16_1),
     .outcome = kInactive,
     .because = "Recomputed core attention runs outside its offload bracket.",
     .remedy = "drop core_attn from one of the two lists",
     .knobs = "offload_modules recompute_modules",
     .labels = "core_attn",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads(k, "core_attn") || !recomputes(k, "core_attn")) return {};
       return "offload of core_attn does nothing: core_attn is recomputed";
     }},
    {.id = "recompute.chunk-states",
     .dialects = since(kBridge),
     .outcome = kAssertionError,
     .because = "It counts the chunk states that the kernel of gated delta-product computes again.",
     .remedy = "gdp_num_chunk_states_to_recompute=2",
     .knobs = "gdp_num_chunk_states_to_recompute gdp_cutedsl_kernel",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const int64_t states = k.gdp_num_chunk_states_to_recompute;
       if (!k.gdp_cutedsl_kernel || (states >= 0 && states <= 64)) return {};
       return fmt::format("gdp_num_chunk_states_to_recompute must be 0 to 64: {}", states);
     }},
    {.id = "offload.stash-and-layers",
     .dialects = since(kMcore_0_18_2),
     .outcome = kValueError,
     .because = "Both would take the experts' saved tensors.",
     .remedy = "cpu_offloading=false, or moe_paged_stash=false",
     .knobs = "moe_paged_stash cpu_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_paged_stash || !k.cpu_offloading) return {};
       return "moe_paged_stash excludes cpu_offloading: both are true";
     }},
    {.id = "offload.stash-needs-capacity",
     .dialects = since(kMcore_0_18_2),
     .outcome = kValueError,
     .because = "The stash holds what a rank's capacity pads.",
     .remedy = "set moe_expert_rank_capacity_factor, or moe_paged_stash=false",
     .knobs = "moe_paged_stash moe_expert_rank_capacity_factor",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_paged_stash || k.moe_expert_rank_capacity_factor) return {};
       return "moe_paged_stash needs moe_expert_rank_capacity_factor: null";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("moe_paged_stash=false", {{"moe_paged_stash", false}})};
     }},
    {.id = "offload.stash-null-modules",
     .dialects = since(kMcore_0_18_2),
     .outcome = kTypeError,
     .because = "The stash looks into offload_modules even where offload is off.",
     .remedy = "offload_modules=[]",
     .knobs = "moe_paged_stash offload_modules",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.moe_paged_stash || k.offload_modules) return {};
       return "offload_modules must be a list with moe_paged_stash: null";
     }},
    {.id = "offload.stash-and-expert-labels",
     .dialects = since(kMcore_0_18_2),
     .outcome = kValueError,
     .because = "The stash keeps those activations itself.",
     .remedy = "drop the experts' labels from offload_modules",
     .knobs = "moe_paged_stash offload_modules",
     .labels = "expert_fc1 moe_act fused_group_mlp",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.moe_paged_stash) return {};
       const std::string inside = inside_experts(k, s.dialect);
       if (inside.empty()) return {};
       return fmt::format("moe_paged_stash excludes {} among offload_modules", inside);
     }},
};

}  // namespace

std::span<const Rule> offload_rules() { return kOffloadRules; }

}  // namespace refrain::config
