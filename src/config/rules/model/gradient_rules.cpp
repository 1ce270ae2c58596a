// The tail of TransformerConfig's checks: weight gradients that are delayed or overlap with
// dispatch, and memory that is released early.
#include "config/rules/graph_words.h"
#include "config/rules/model/parts.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

std::vector<Remedy> gradients_at_once(const Knobs&, const Context&) {
  return {setting("delay_wgrad_compute=false", {{"delay_wgrad_compute", false}})};
}

/// A graph of a layer holds linear layers whose weight gradients are delayed.
bool captures_delayed_gradients(const Knobs& k, const Context& s) {
  const bool shared_experts = k.moe_shared_expert_intermediate_size && !k.moe_shared_expert_overlap;
  return k.delay_wgrad_compute && per_layer(k, s) &&
         (captures(k, s, "attn") || (captures(k, s, "moe_router") && shared_experts));
}

constexpr Rule kGradientRules[] = {
    {.id = "overlap.delayed-gradients",
     .dialects = since(kMcore_0_14_0),
     .outcome = kAssertionError,
     .because = "Weight gradients are delayed to fill the overlap.",
     .remedy = "delay_wgrad_compute=false, or overlap_moe_expert_parallel_comm=true",
     .knobs = "delay_wgrad_compute overlap_moe_expert_parallel_comm",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.delay_wgrad_compute || k.overlap_moe_expert_parallel_comm) return {};
       return "delay_wgrad_compute needs overlap_moe_expert_parallel_comm: it is false";
     },
     .remedies = gradients_at_once},
    {.id = "overlap.delayed-gradients-need-te",
     .dialects = since(kMcore_0_16_1),
     .outcome = kAssertionError,
     .because = "Graphs that leave the weight gradients out came with TransformerEngine 2.10.0.",
     .remedy = "TransformerEngine 2.10.0 or later, or delay_wgrad_compute=false",
     .knobs = "delay_wgrad_compute cuda_graph_impl te_version",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.delay_wgrad_compute || k.cuda_graph_impl != "transformer_engine" ||
           s.te >= TeVersion{2, 10, 0}) {
         return {};
       }
       return fmt::format(
           "delay_wgrad_compute with transformer_engine graphs needs TransformerEngine 2.10.0: {}",
           te_text(k));
     },
     .remedies = gradients_at_once},
    {.id = "overlap.delayed-gradients-layers",
     .dialects = DialectSet(kRefrain),
     .outcome = kAssertionError,
     .because = "Only TransformerEngine's layers compute weight gradients apart; Megatron-LM's "
                "command line checks it.",
     .remedy = "transformer_impl=transformer_engine, or delay_wgrad_compute=false",
     .knobs = "delay_wgrad_compute transformer_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.delay_wgrad_compute || k.transformer_impl == "transformer_engine") return {};
       return fmt::format("delay_wgrad_compute needs transformer_impl transformer_engine: {}",
                          k.transformer_impl);
     },
     .remedies = gradients_at_once},
    {.id = "overlap.delayed-gradients-fusion",
     .dialects = DialectSet(kBridge),
     .outcome = kAssertionError,
     .because = "Weight gradients that the GEMM adds up could not be delayed before "
                "TransformerEngine 2.7.0.",
     .remedy = "TransformerEngine 2.7.0 or later, or delay_wgrad_compute=false",
     .knobs = "delay_wgrad_compute gradient_accumulation_fusion te_version",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.delay_wgrad_compute || !k.gradient_accumulation_fusion ||
           s.te >= TeVersion{2, 7, 0}) {
         return {};
       }
       return fmt::format(
           "delay_wgrad_compute with gradient_accumulation_fusion needs TransformerEngine 2.7.0: "
           "{}",
           te_text(k));
     },
     .remedies = gradients_at_once},
    {.id = "overlap.delayed-gradients-captured",
     .dialects = DialectSet(kBridge),
     .outcome = kAssertionError,
     .because = "A graph that holds delayed weight gradients came with TransformerEngine 2.12.0.",
     .remedy = "TransformerEngine 2.12.0 or later, or delay_wgrad_compute=false",
     .knobs = "delay_wgrad_compute cuda_graph_impl cuda_graph_modules te_version "
              "moe_shared_expert_intermediate_size moe_shared_expert_overlap",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!captures_delayed_gradients(k, s) || s.te >= TeVersion{2, 12, 0}) return {};
       return fmt::format(
           "captured weight gradients that are delayed need TransformerEngine 2.12.0: {}",
           te_text(k));
     },
     .remedies = gradients_at_once},
    {.id = "overlap.delayed-gradients-bias",
     .dialects = DialectSet(kBridge),
     .outcome = kAssertionError,
     .because = "The gradient of attention's bias cannot be delayed in a graph yet.",
     .remedy = "add_bias_linear=false, or do not capture attn",
     .knobs = "delay_wgrad_compute cuda_graph_impl cuda_graph_modules add_bias_linear",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!captures_delayed_gradients(k, s) || !captures(k, s, "attn") || !k.add_bias_linear) {
         return {};
       }
       return "delay_wgrad_compute with captured attn excludes add_bias_linear: it is true";
     },
     .remedies = [](const Knobs& k, const Context& s) -> std::vector<Remedy> {
       return before({setting("add_bias_linear=false", {{"add_bias_linear", false}})},
                     gradients_at_once(k, s));
     }},
    {.id = "overlap.dispatch-and-overlap",
     .dialects = since(kMcore_0_18_2),
     .outcome = kAssertionError,
     .because = "Both move the dispatch's backward.",
     .remedy = "overlap_dispatch_backward_with_experts_wgrad=false",
     .knobs = "overlap_dispatch_backward_with_experts_wgrad overlap_moe_expert_parallel_comm",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.overlap_moe_expert_parallel_comm || !k.overlap_dispatch_backward_with_experts_wgrad) {
         return {};
       }
       return "overlap_moe_expert_parallel_comm excludes "
              "overlap_dispatch_backward_with_experts_wgrad";
     }},
    {.id = "overlap.dispatch-needs-te",
     .dialects = since(kMcore_0_18_2),
     .outcome = kAssertionError,
     .because = "Weight gradients apart from input gradients came with TransformerEngine 2.3.0.",
     .remedy = "TransformerEngine 2.3.0 or later",
     .knobs = "overlap_dispatch_backward_with_experts_wgrad te_version",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.overlap_dispatch_backward_with_experts_wgrad || s.te >= TeVersion{2, 3, 0}) return {};
       return fmt::format(
           "overlap_dispatch_backward_with_experts_wgrad needs TransformerEngine 2.3.0: {}",
           te_text(k));
     }},
    {.id = "overlap.dispatch-and-delay",
     .dialects = since(kMcore_0_18_2),
     .outcome = kAssertionError,
     .because = "Each says when weight gradients are computed.",
     .remedy = "one of the two",
     .knobs = "overlap_dispatch_backward_with_experts_wgrad delay_wgrad_compute",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.overlap_dispatch_backward_with_experts_wgrad || !k.delay_wgrad_compute) return {};
       return "overlap_dispatch_backward_with_experts_wgrad excludes delay_wgrad_compute";
     }},
    {.id = "overlap.early-release",
     .dialects = since(kMcore_0_16_1),
     .outcome = kAssertionError,
     .because = "It moves attention's backward within the overlapping schedule.",
     .remedy = "ep_overlap_early_attn_memory_release=false",
     .knobs = "ep_overlap_early_attn_memory_release overlap_moe_expert_parallel_comm",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.ep_overlap_early_attn_memory_release || k.overlap_moe_expert_parallel_comm) return {};
       return "ep_overlap_early_attn_memory_release needs overlap_moe_expert_parallel_comm";
     }},
    {.id = "layout.pipeline-size",
     .dialects = kEverywhere,
     .outcome = kAssertionError,
     .because = "There is at least one rank.",
     .remedy = "pipeline_model_parallel_size=1",
     .knobs = "pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.pipeline_model_parallel_size > 0) return {};
       return fmt::format("pipeline_model_parallel_size must be 1 or more: {}",
                          k.pipeline_model_parallel_size);
     }},
};

}  // namespace

std::span<const Rule> gradient_rules() { return kGradientRules; }

}  // namespace refrain::config
