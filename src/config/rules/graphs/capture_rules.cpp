// CUDA graphs, third part: which modules a graph can capture.
#include <algorithm>

#include "config/rules/graph_words.h"
#include "config/rules/graphs/parts.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

/// Experts always get their capacity, so that nothing depends on the router's choice.
bool drops_and_pads(const Knobs& k) {
  return k.moe_expert_capacity_factor && k.moe_pad_expert_input_to_capacity;
}

bool has_experts(const Knobs& k) { return k.num_moe_experts.value_or(0) > 1; }

bool every_layer_has_experts(const Knobs& k) {
  if (const auto* every = std::get_if<int64_t>(&k.moe_layer_freq)) return *every == 1;
  const auto& flags = std::get<std::vector<int64_t>>(k.moe_layer_freq);
  return std::find(flags.begin(), flags.end(), 0) == flags.end();
}

constexpr Rule kCaptureRules[] = {
    {.id = "graph.offload-mid",
     .dialects = DialectSet::range(kMcore_0_15_3, kMcore_0_17_1),
     .outcome = kValueError,
     .because = "A graph fixes addresses, which offload moves.",
     .remedy = "cuda_graph_impl=none, or cpu_offloading=false",
     .knobs = "cuda_graph_impl cpu_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!captures_something(k) || !k.cpu_offloading) return {};
       return fmt::format("cuda_graph_impl {} excludes cpu_offloading", k.cuda_graph_impl);
     },
     .remedies = graphs_off},
    {.id = "graph.offload",
     .dialects = since(kMcore_0_18_2),
     .outcome = kValueError,
     .because = "A graph a layer fixes addresses, which offload moves; a captured step holds the "
                "copies too.",
     .remedy = "cuda_graph_impl=none or full_iteration, or cpu_offloading=false",
     .knobs = "cuda_graph_impl cpu_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!captures_something(k) || !k.cpu_offloading || k.cuda_graph_impl == "full_iteration")
         return {};
       return fmt::format("cuda_graph_impl {} excludes cpu_offloading", k.cuda_graph_impl);
     },
     .remedies = graphs_off},
    {.id = "graph.recompute-mid",
     .dialects = DialectSet(kMcore_0_15_3),
     .outcome = kValueError,
     .because = "This release captures attention beside selective recompute and nothing else.",
     .remedy = "cuda_graph_impl=none, or recompute_granularity=null",
     .knobs = "cuda_graph_impl cuda_graph_scope recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!captures_something(k) || !is_told(k.recompute_granularity)) return {};
       if (selective(k) && k.cuda_graph_impl == "transformer_engine" &&
           k.cuda_graph_scope == WordList{{"attn"}, true}) {
         return {};
       }
       return fmt::format("graphs exclude recompute_granularity {}", *k.recompute_granularity);
     },
     .remedies = graphs_off},
    {.id = "graph.attention-labels-mid",
     .dialects = DialectSet(kMcore_0_15_3),
     .outcome = kValueError,
     .because = "Captured attention holds what these labels recompute.",
     .remedy = "drop core_attn and mla_up_proj",
     .knobs = "cuda_graph_scope recompute_modules",
     .labels = "core_attn mla_up_proj",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!captures_something(k) || !(recomputes(k, "core_attn") || recomputes(k, "mla_up_proj")))
         return {};
       return "core_attn and mla_up_proj exclude captured attention";
     },
     .remedies = graphs_off},
    {.id = "graph.router-pair",
     .dialects = kCaptures,
     .outcome = kRewrite,
     .because = "The local implementation captures routing and preprocessing together.",
     .remedy = "name both",
     .knobs = "cuda_graph_modules cuda_graph_scope cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.cuda_graph_impl != "local" ||
           captures(k, s, "moe_router") == captures(k, s, "moe_preprocess")) {
         return {};
       }
       return fmt::format("{} joins what is captured",
                          captures(k, s, "moe_router") ? "moe_preprocess" : "moe_router");
     },
     .rewrite =
         [](Knobs& k, const Context& s) {
           const bool router = captures(k, s, "moe_router");
           captured_list(k, s)->words.emplace_back(router ? "moe_preprocess" : "moe_router");
         }},
    {.id = "graph.step-needs-local",
     .dialects = DialectSet::range(kMcore_0_16_1, kMcore_0_17_1),
     .outcome = kAssertionError,
     .because = "The whole step is captured by the local implementation.",
     .remedy = "cuda_graph_impl=local",
     .knobs = "cuda_graph_impl cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.cuda_graph_impl != "transformer_engine" || !captures(k, s, "full_iteration")) {
         return {};
       }
       return "full_iteration needs cuda_graph_impl local: it is transformer_engine";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("cuda_graph_impl=local", {{"cuda_graph_impl", "local"}})};
     }},
    {.id = "graph.moe-and-router",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "The expert layer holds its router.",
     .remedy = "moe or moe_router",
     .knobs = "cuda_graph_modules cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!per_layer(k, s) || !captures(k, s, "moe") || !captures(k, s, "moe_router")) return {};
       return "captured moe excludes captured moe_router";
     },
     .remedies = graphs_off},
    {.id = "graph.preprocess-needs-router",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "Preprocessing starts from the router's choice.",
     .remedy = "capture moe_router too",
     .knobs = "cuda_graph_modules cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!per_layer(k, s) || !captures(k, s, "moe_preprocess") || captures(k, s, "moe_router")) {
         return {};
       }
       return "captured moe_preprocess needs captured moe_router";
     },
     .remedies = graphs_off},
    {.id = "graph.experts-missing",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "A dense model has no experts to capture.",
     .remedy = "drop moe and moe_router",
     .knobs = "cuda_graph_modules cuda_graph_scope num_moe_experts",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!per_layer(k, s) || has_experts(k)) return {};
       if (!captures(k, s, "moe") && !captures(k, s, "moe_router")) return {};
       return "captured moe and moe_router need num_moe_experts > 1";
     },
     .remedies = graphs_off},
    {.id = "graph.dense-layers-missing",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "Where every layer has experts there is no dense MLP to capture.",
     .remedy = "drop mlp",
     .knobs = "cuda_graph_modules cuda_graph_scope moe_layer_freq",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!per_layer(k, s) || !has_experts(k) || !every_layer_has_experts(k) ||
           !captures(k, s, "mlp")) {
         return {};
       }
       return "captured mlp needs a dense layer: every layer has experts";
     },
     .remedies = graphs_off},
    {.id = "graph.moe-needs-padding",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "A graph has fixed shapes; only experts that always get their capacity do.",
     .remedy = "moe_expert_capacity_factor with moe_pad_expert_input_to_capacity, or drop moe",
     .knobs = "cuda_graph_modules cuda_graph_scope moe_expert_capacity_factor "
              "moe_pad_expert_input_to_capacity",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!per_layer(k, s) || !has_experts(k) || drops_and_pads(k) || !captures(k, s, "moe")) {
         return {};
       }
       return "captured moe needs a capacity and padding to it";
     },
     .remedies = graphs_off},
    {.id = "graph.preprocess-synchronises",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "Preprocessing then copies counts to the host, which a graph cannot.",
     .remedy = "drop moe_preprocess, or pad to the capacity",
     .knobs = "cuda_graph_modules cuda_graph_scope moe_token_dispatcher_type "
              "moe_expert_capacity_factor moe_router_padding_for_fp8 "
              "moe_pad_expert_input_to_capacity",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!per_layer(k, s) || !has_experts(k) || drops_and_pads(k) ||
           !captures(k, s, "moe_preprocess") || k.moe_token_dispatcher_type != "alltoall") {
         return {};
       }
       if (!k.moe_expert_capacity_factor && !k.moe_router_padding_for_fp8) return {};
       return "captured moe_preprocess excludes a capacity without padding and padding for fp8";
     },
     .remedies = graphs_off},
};

}  // namespace

std::span<const Rule> graph_capture_rules() { return kCaptureRules; }

}  // namespace refrain::config
