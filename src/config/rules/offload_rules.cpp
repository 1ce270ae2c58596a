// Fine-grained offload and the paged stash of expert activations.
#include <algorithm>

#include "config/rules/rule.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

struct KnownLabel {
  std::string_view name;
  DialectSet dialects;
};
constexpr KnownLabel kLabels[] = {
    {"attn_norm", kEverywhere},        {"qkv_linear", kEverywhere},
    {"core_attn", kEverywhere},        {"attn_proj", kEverywhere},
    {"mlp_norm", kEverywhere},         {"expert_fc1", kEverywhere},
    {"moe_act", kEverywhere},          {"fused_group_mlp", since(kMcore_0_19_2)},
    {"gdp_qkv", DialectSet(kRefrain)},
};

bool offloads(const Knobs& k, std::string_view label) {
  return k.fine_grained_activation_offloading && has(k.offload_modules, label);
}

Complaint unknown_labels(const Knobs& k, const Context& s) {
  if (!k.fine_grained_activation_offloading || !k.offload_modules) return {};
  std::vector<std::string> known, unknown;
  for (const KnownLabel& label : kLabels) {
    if (label.dialects.has(s.dialect)) known.emplace_back(label.name);
  }
  for (const std::string& word : k.offload_modules->words) {
    if (k.offload_modules->is_text || std::find(known.begin(), known.end(), word) == known.end()) {
      const auto near = nearest(word, known);
      unknown.push_back(near ? fmt::format("{} (did you mean {}?)", in_quotes(word), *near)
                             : in_quotes(word));
    }
  }
  if (unknown.empty()) return {};
  return fmt::format("offload_modules must be some of {}: {}", joined(known), joined(unknown));
}

std::vector<Remedy> offload_off(const Knobs&, const Context&) {
  return {setting("fine_grained_activation_offloading=false",
                  {{"fine_grained_activation_offloading", false}})};
}

/// Of the labels inside an expert, those that are offloaded.
std::string inside_experts(const Knobs& k, Dialect dialect) {
  std::vector<std::string> told;
  for (const std::string_view label : {"expert_fc1", "moe_act", "fused_group_mlp"}) {
    if (label == "fused_group_mlp" && dialect < kMcore_0_19_2) continue;
    if (has(k.offload_modules, label)) told.emplace_back(label);
  }
  return joined(told);
}

constexpr Rule kRules[] = {
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
     .because = "Only TransformerEngine's layers have the brackets around modules.",
     .remedy = "transformer_impl=transformer_engine",
     .knobs = "fine_grained_activation_offloading transformer_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fine_grained_activation_offloading || k.transformer_impl == "transformer_engine") {
         return {};
       }
       return fmt::format(
           "fine_grained_activation_offloading needs transformer_impl transformer_engine: {}",
           k.transformer_impl);
     }},
    {.id = "offload.no-modules",
     .dialects = since(kMcore_0_16_1),
     .outcome = kAssertionError,
     .because = "Fine-grained offload offloads what is named.",
     .remedy = "offload_modules=[core_attn], or fine_grained_activation_offloading=false",
     .knobs = "offload_modules fine_grained_activation_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fine_grained_activation_offloading) return {};
       if (k.offload_modules && !k.offload_modules->empty()) return {};
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
     .broken = unknown_labels,
     .remedies = offload_off},
    {.id = "offload.attn-proj-alone",
     .dialects = since(kMcore_0_16_1),
     .outcome = kValueError,
     .because = "The projection's input is core attention's output, which attention's backward "
                "reads as well.",
     .remedy = "offload core_attn too",
     .knobs = "offload_modules",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads(k, "attn_proj") || offloads(k, "core_attn")) return {};
       return "attn_proj needs core_attn among offload_modules";
     },
     .remedies = [](const Knobs& k, const Context&) -> std::vector<Remedy> {
       std::vector<std::string> words = k.offload_modules->words;
       words.emplace_back("core_attn");
       return {setting("offload core_attn too", {{"offload_modules", words}})};
     }},
    {.id = "offload.inside-recomputed-moe",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "A recomputed expert layer saves nothing inside that could be offloaded.",
     .remedy = "drop moe from recompute_modules, or the experts' labels from offload_modules",
     .knobs = "offload_modules recompute_modules fine_grained_activation_offloading",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.fine_grained_activation_offloading || !recomputes(k, "moe")) return {};
       const std::string inside = inside_experts(k, s.dialect);
       if (inside.empty()) return {};
       return fmt::format("offload_modules excludes the inside of a recomputed moe: {}", inside);
     },
     .remedies = [](const Knobs& k, const Context&) -> std::vector<Remedy> {
       return {setting("drop moe from recompute_modules",
                       {{"recompute_modules", without(k.recompute_modules, "moe")}}),
               offload_off(k, {})[0]};
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
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads(k, "fused_group_mlp") || k.use_transformer_engine_op_fuser) return {};
       return "fused_group_mlp needs use_transformer_engine_op_fuser: it is false";
     },
     .remedies = [](const Knobs& k, const Context&) -> std::vector<Remedy> {
       return {setting("use_transformer_engine_op_fuser=true",
                       {{"use_transformer_engine_op_fuser", true}}),
               offload_off(k, {})[0]};
     }},
    {.id = "offload.fused-mlp-and-parts",
     .dialects = since(kMcore_0_19_2),
     .outcome = kValueError,
     .because = "The whole holds its parts.",
     .remedy = "drop expert_fc1 and moe_act, or fused_group_mlp",
     .knobs = "offload_modules",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads(k, "fused_group_mlp")) return {};
       if (!offloads(k, "expert_fc1") && !offloads(k, "moe_act")) return {};
       return "fused_group_mlp excludes expert_fc1 and moe_act";
     },
     .remedies = [](const Knobs& k, const Context&) -> std::vector<Remedy> {
       return {setting("drop fused_group_mlp",
                       {{"offload_modules", without(k.offload_modules, "fused_group_mlp")}})};
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
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads(k, "core_attn") || !recomputes(k, "core_attn")) return {};
       return "offload of core_attn does nothing: core_attn is recomputed";
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
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.moe_paged_stash) return {};
       const std::string inside = inside_experts(k, s.dialect);
       if (inside.empty()) return {};
       return fmt::format("moe_paged_stash excludes {} among offload_modules", inside);
     }},
};

}  // namespace

std::span<const Rule> offload_rules() { return kRules; }

}  // namespace refrain::config
