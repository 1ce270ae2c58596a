// CUDA graphs, last part: recompute and offload beside what is captured.
#include "config/labels/label_table.h"
#include "config/rules/graph_words.h"
#include "config/rules/graphs/parts.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr DialectSet kOffloads = since(kMcore_0_18_2);

/// Full recompute and layers as graphs: each of the ways out, in each release's spelling.
std::vector<Remedy> full_or_graphs(const Knobs& k, const Context& s) {
  return before({selective_with("recompute named modules instead", "layernorm"),
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
                          {"external_cuda_graph", false}})},
                graphs_off(k, s));
}

std::vector<Remedy> no_dropout(const Knobs& k, const Context& s) {
  return before({setting("no dropout", {{"attention_dropout", 0.0}, {"hidden_dropout", 0.0}})},
                graphs_off(k, s));
}

/// A captured module that is recomputed: label and module are the same part of a layer.
bool recomputes_captured(const Knobs& k, const Context& s, std::string_view label,
                         std::string_view module) {
  return captures_something(k) && recomputes(k, label) &&
         (captures_whole(k, s) || captures(k, s, module));
}

std::vector<std::string> offloaded_outside_experts(const Knobs& k) {
  std::vector<std::string> outside;
  for (const std::string& word : k.offload_modules.value_or(WordList{}).words) {
    const ModuleLabel* label = find_label(LabelList::kOffload, word);
    if (label == nullptr || !is_inside_experts(*label)) outside.push_back(word);
  }
  return outside;
}

bool offloads_under_graphs(const Knobs& k) {
  return captures_something(k) && k.fine_grained_activation_offloading;
}

constexpr Rule kReplayRules[] = {
    {.id = "graph.full-recompute",
     .dialects = kCaptures,
     .outcome = kAssertionError,
     .because = "A graph a layer cannot hold the replay of whole layers; a captured step can.",
     .remedy = "selective recompute, no graphs, or the whole step as one graph",
     .knobs = "recompute_granularity cuda_graph_impl cuda_graph_scope cuda_graph_modules",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!captures_something(k) || !full(k)) return {};
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
     .labels = "moe",
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
     .labels = "core_attn",
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
     .labels = "mlp moe",
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
     .labels = "moe",
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
     .labels = "shared_experts",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!shards_weights(k) || k.cuda_graph_impl != "local" || (!k.fp8 && !k.fp4) ||
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
    {.id = "graph.weight-shards-environment",
     .dialects = DialectSet(kRefrain),
     .outcome = kNote,
     .because = "So that gathering shards overlaps with GEMMs on Blackwell; Megatron-LM's command "
                "line raises an AssertionError without it.",
     .remedy = "export CUDA_GRAPHS_USE_NODE_PRIORITY=1",
     .knobs = "tensor_parallel_num_weight_shards expert_tensor_parallel_num_weight_shards "
              "cuda_graph_impl tensor_model_parallel_size expert_tensor_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!captures_something(k) || (!shards_weights(k) && !shards_expert_weights(k))) return {};
       return "graphs with weight shards need CUDA_GRAPHS_USE_NODE_PRIORITY=1 in the environment";
     }},
    {.id = "graph.local-offload-labels",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "Local graphs leave the experts outside, and nothing else.",
     .remedy = "offload expert_fc1, moe_act or fused_group_mlp alone",
     .knobs = "offload_modules cuda_graph_impl",
     .labels = "expert_fc1 moe_act fused_group_mlp",
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

std::span<const Rule> graph_replay_rules() { return kReplayRules; }

}  // namespace refrain::config
