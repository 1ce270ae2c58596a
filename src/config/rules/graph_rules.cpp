// CUDA graphs, second half: what a capture excludes.
#include <algorithm>

#include "config/rules/graph_words.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr DialectSet kCaptures = since(kMcore_0_16_1);
constexpr DialectSet kOffloads = since(kMcore_0_18_2);

bool is_on(const Knobs& k) { return k.cuda_graph_impl != "none"; }

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

std::vector<Remedy> graphs_off(const Knobs&, const Context&) {
  return {setting("cuda_graph_impl=none", {{"cuda_graph_impl", "none"},
                                           {"enable_cuda_graph", false},
                                           {"external_cuda_graph", false},
                                           {"inference_cuda_graph_scope", nullptr}}),
          setting("cuda_graph_impl=none", {{"cuda_graph_impl", "none"},
                                           {"enable_cuda_graph", false},
                                           {"external_cuda_graph", false}})};
}

/// Full recompute and layers as graphs: each of the ways out, in each release's spelling.
std::vector<Remedy> full_or_graphs(const Knobs& k, const Context& s) {
  std::vector<Remedy> remedies = {
      setting("recompute named modules instead", {{"recompute_granularity", "selective"},
                                                  {"recompute_method", nullptr},
                                                  {"recompute_num_layers", nullptr},
                                                  {"recompute_modules", {"layernorm"}}}),
      setting("capture the whole step", {{"cuda_graph_impl", "full_iteration"},
                                         {"cuda_graph_modules", Value::array()},
                                         {"cuda_graph_scope", nullptr},
                                         {"enable_cuda_graph", false},
                                         {"external_cuda_graph", false},
                                         {"inference_cuda_graph_scope", nullptr}}),
      setting("capture the whole step, in the old spelling",
              {{"cuda_graph_impl", "local"},
               {"cuda_graph_scope", {"full_iteration"}},
               {"enable_cuda_graph", false},
               {"external_cuda_graph", false}})};
  for (Remedy& remedy : graphs_off(k, s)) remedies.push_back(std::move(remedy));
  return remedies;
}

std::vector<Remedy> no_dropout(const Knobs& k, const Context& s) {
  std::vector<Remedy> remedies = {
      setting("no dropout", {{"attention_dropout", 0.0}, {"hidden_dropout", 0.0}})};
  for (Remedy& remedy : graphs_off(k, s)) remedies.push_back(std::move(remedy));
  return remedies;
}

/// A captured module that is recomputed: label and module are the same part of a layer.
bool recomputes_captured(const Knobs& k, const Context& s, std::string_view label,
                         std::string_view module) {
  return is_on(k) && recomputes(k, label) && (captures_whole(k, s) || captures(k, s, module));
}

std::vector<std::string> offloaded_outside_experts(const Knobs& k) {
  std::vector<std::string> outside;
  for (const std::string& word : k.offload_modules.value_or(WordList{}).words) {
    if (word != "expert_fc1" && word != "moe_act" && word != "fused_group_mlp") {
      outside.push_back(word);
    }
  }
  return outside;
}

bool offloads_under_graphs(const Knobs& k) {
  return is_on(k) && k.fine_grained_activation_offloading;
}

constexpr Rule kRules[] = {
    {.id = "graph.offload-mid",
     .dialects = DialectSet::range(kMcore_0_15_3, kMcore_0_17_1),
     .outcome = kValueError,
     .because = "A graph fixes addresses, which offload moves.",
     .remedy = "cuda_graph_impl=none, or cpu_offloading=false",
     .knobs = "cuda_graph_impl cpu_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_on(k) || !k.cpu_offloading) return {};
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
       if (!is_on(k) || !k.cpu_offloading || k.cuda_graph_impl == "full_iteration") return {};
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
       if (!is_on(k) || !quantised(k.recompute_granularity)) return {};
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
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_on(k) || !(recomputes(k, "core_attn") || recomputes(k, "mla_up_proj"))) return {};
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
           auto& list = names_modules(s) ? k.cuda_graph_modules : k.cuda_graph_scope;
           list->words.emplace_back(router ? "moe_preprocess" : "moe_router");
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
    {.id = "graph.local-in-training",
     .dialects = DialectSet(kBridge),
     .outcome = kValueError,
     .because = "Megatron-Bridge trains with TransformerEngine's graphs or with a captured step.",
     .remedy = "cuda_graph_impl=transformer_engine or full_iteration",
     .knobs = "cuda_graph_impl cuda_graph_modules",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.cuda_graph_impl != "local" || captures_nothing_named(k, s)) return {};
       return "cuda_graph_impl local excludes named modules in training";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting(
           "cuda_graph_impl=transformer_engine",
           {{"cuda_graph_impl", "transformer_engine"}, {"inference_cuda_graph_scope", nullptr}})};
     }},
    {.id = "graph.full-recompute",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "A graph a layer cannot hold the replay of whole layers; a captured step can.",
     .remedy = "selective recompute, no graphs, or the whole step as one graph",
     .knobs = "recompute_granularity cuda_graph_impl cuda_graph_scope cuda_graph_modules",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!is_on(k) || !full(k)) return {};
       const bool step = names_modules(s)
                             ? k.cuda_graph_impl == "full_iteration"
                             : graph_words(k, s) == std::vector<std::string>{"full_iteration"};
       if (step) return {};
       return fmt::format("full recompute excludes graphs of layers: cuda_graph_impl is {}",
                          k.cuda_graph_impl);
     },
     .remedies = full_or_graphs},
    {.id = "graph.router-of-recomputed-moe",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "A recomputed region must not hold a graph with a backward of its own.",
     .remedy = "drop moe from recompute_modules, or moe_router from the graph",
     .knobs = "recompute_modules cuda_graph_impl cuda_graph_modules cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.cuda_graph_impl != "transformer_engine" || !recomputes(k, "moe") ||
           !captures(k, s, "moe_router")) {
         return {};
       }
       return "recomputed moe excludes captured moe_router under transformer_engine";
     },
     .remedies = graphs_off},
    {.id = "graph.attention-dropout",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "A replay inside a graph would draw other random numbers.",
     .remedy = "attention_dropout=0, or drop core_attn",
     .knobs = "attention_dropout recompute_modules cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.attention_dropout == 0 || !recomputes_captured(k, s, "core_attn", "attn")) return {};
       return fmt::format("recomputed core_attn in a graph needs attention_dropout 0: it is {}",
                          k.attention_dropout);
     },
     .remedies = no_dropout},
    {.id = "graph.hidden-dropout",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "A replay inside a graph would draw other random numbers.",
     .remedy = "hidden_dropout=0, or drop mlp and moe",
     .knobs = "hidden_dropout recompute_modules cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.hidden_dropout == 0) return {};
       if (!recomputes_captured(k, s, "mlp", "mlp") && !recomputes_captured(k, s, "moe", "moe")) {
         return {};
       }
       return fmt::format("recomputed mlp or moe in a graph needs hidden_dropout 0: it is {}",
                          k.hidden_dropout);
     },
     .remedies = no_dropout},
    {.id = "graph.router-jitter",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "A replay inside a graph would draw other random numbers.",
     .remedy = "moe_input_jitter_eps=null, or drop moe",
     .knobs = "moe_input_jitter_eps recompute_modules cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.moe_input_jitter_eps || !recomputes_captured(k, s, "moe", "moe")) return {};
       return "recomputed moe in a graph excludes moe_input_jitter_eps";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("moe_input_jitter_eps=null", {{"moe_input_jitter_eps", nullptr}})};
     }},
    {.id = "graph.weight-shards",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "The replay of quantised shared experts wants a true backward, which the warm-up "
                "of local graphs does not run.",
     .remedy = "drop shared_experts, or cuda_graph_impl=full_iteration",
     .knobs = "tensor_parallel_num_weight_shards cuda_graph_impl fp8 fp4 recompute_modules "
              "tensor_model_parallel_size moe_shared_expert_intermediate_size "
              "moe_shared_expert_overlap",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const bool sharded =
           k.tensor_parallel_num_weight_shards.value_or(0) > k.tensor_model_parallel_size;
       if (!sharded || k.cuda_graph_impl != "local" || (!k.fp8 && !k.fp4) ||
           !k.moe_shared_expert_intermediate_size || k.moe_shared_expert_overlap ||
           !recomputes(k, "shared_experts")) {
         return {};
       }
       if (!captures_whole(k, s) && !captures(k, s, "moe") && !captures(k, s, "moe_router")) {
         return {};
       }
       return "recomputed shared_experts in a local graph exclude weight shards with fp8 or fp4";
     },
     .remedies = graphs_off},
    {.id = "graph.local-offload-labels",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "Local graphs leave the experts outside, and nothing else.",
     .remedy = "offload expert_fc1, moe_act or fused_group_mlp alone",
     .knobs = "offload_modules cuda_graph_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads_under_graphs(k) || k.cuda_graph_impl != "local") return {};
       const std::vector<std::string> outside = offloaded_outside_experts(k);
       if (outside.empty()) return {};
       return fmt::format("cuda_graph_impl local excludes the offload of {}", joined(outside));
     },
     .remedies = graphs_off},
    {.id = "graph.local-whole-offload",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "A whole layer as a graph has no gap for the copies.",
     .remedy = "name what is captured",
     .knobs = "offload_modules cuda_graph_impl cuda_graph_modules",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!offloads_under_graphs(k) || k.cuda_graph_impl != "local" ||
           !captures_nothing_named(k, s)) {
         return {};
       }
       return "cuda_graph_impl local of whole layers excludes fine-grained offload";
     },
     .remedies = graphs_off},
    {.id = "graph.offload-implementation",
     .dialects = DialectSet(kMcore_0_18_2),
     .outcome = kAssertionError,
     .because = "This release offloads under these two alone.",
     .remedy = "cuda_graph_impl=transformer_engine or full_iteration",
     .knobs = "fine_grained_activation_offloading cuda_graph_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads_under_graphs(k) || k.cuda_graph_impl != "local") return {};
       return "fine-grained offload excludes cuda_graph_impl local";
     },
     .remedies = graphs_off},
    {.id = "graph.offload-and-moe",
     .dialects = kOffloads,
     .outcome = kAssertionError,
     .because = "A captured expert layer drops tokens, which offload does not know of.",
     .remedy = "do not capture moe",
     .knobs = "fine_grained_activation_offloading cuda_graph_modules",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!offloads_under_graphs(k) || !captures(k, s, "moe")) return {};
       return "fine-grained offload excludes captured moe";
     },
     .remedies = graphs_off},
    {.id = "graph.offload-warmup",
     .dialects = kOffloads,
     .outcome = kAssertionError,
     .because = "Offload learns its groups in an eager step.",
     .remedy = "cuda_graph_warmup_steps=1 or more",
     .knobs = "fine_grained_activation_offloading cuda_graph_warmup_steps",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads_under_graphs(k) || k.cuda_graph_warmup_steps > 0) return {};
       return fmt::format("fine-grained offload needs cuda_graph_warmup_steps 1 or more: {}",
                          k.cuda_graph_warmup_steps);
     }},
    {.id = "graph.offload-in-flight",
     .dialects = kOffloads,
     .outcome = kAssertionError,
     .because = "A captured step fixes how many copies are under way.",
     .remedy = "fine_grained_offloading_max_inflight_offloads=1",
     .knobs = "fine_grained_offloading_max_inflight_offloads cuda_graph_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!offloads_under_graphs(k) || k.cuda_graph_impl != "full_iteration" ||
           k.fine_grained_offloading_max_inflight_offloads.value_or(-1) >= 0) {
         return {};
       }
       return "fine_grained_offloading_max_inflight_offloads must be 0 or more with full_iteration";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("fine_grained_offloading_max_inflight_offloads=1",
                       {{"fine_grained_offloading_max_inflight_offloads", 1}})};
     }},
};

}  // namespace

std::span<const Rule> graph_rules() { return kRules; }

}  // namespace refrain::config
