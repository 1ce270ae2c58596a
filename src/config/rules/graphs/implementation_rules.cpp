// CUDA graphs, second part: who captures, and what is captured at inference.
#include "config/rules/graph_words.h"
#include "config/rules/graphs/parts.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr Rule kImplementationRules[] = {
    {.id = "graph.unknown-implementation-old",
     .dialects = DialectSet::range(kMcore_0_15_3, kMcore_0_17_1),
     .outcome = kAssertionError,
     .because = "These releases have two that capture.",
     .remedy = "local, transformer_engine or none",
     .knobs = "cuda_graph_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const std::string& impl = k.cuda_graph_impl;
       if (impl == "none" || impl == "local" || impl == "transformer_engine") return {};
       return fmt::format("cuda_graph_impl must be none, local or transformer_engine: {}",
                          in_quotes(impl));
     },
     .remedies = graphs_off},
    {.id = "graph.unknown-implementation",
     .dialects = kNamesModules,
     .outcome = kAssertionError,
     .because = "Somebody has to capture.",
     .remedy = "none, local, transformer_engine or full_iteration",
     .knobs = "cuda_graph_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const std::string& impl = k.cuda_graph_impl;
       if (impl == "none" || impl == "local" || impl == "transformer_engine" || impl == kStep) {
         return {};
       }
       return fmt::format(
           "cuda_graph_impl must be none, local, transformer_engine or full_iteration: {}",
           in_quotes(impl));
     },
     .remedies = graphs_off},
    {.id = "graph.inference-default",
     .dialects = kNamesModules,
     .outcome = kFill,
     .because = "The local implementation captures layers at inference.",
     .remedy = "",
     .knobs = "inference_cuda_graph_scope cuda_graph_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.inference_cuda_graph_scope) return {};
       return "inference_cuda_graph_scope becomes what cuda_graph_impl means";
     },
     .rewrite =
         [](Knobs& k, const Context&) {
           k.inference_cuda_graph_scope = k.cuda_graph_impl == "local" ? "layer" : "none";
         }},
    {.id = "graph.inference-scope-name",
     .dialects = kNamesModules,
     .outcome = kKeyError,
     .because = "A graph at inference captures a layer or a block.",
     .remedy = "none, layer or block",
     .knobs = "inference_cuda_graph_scope",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (is_inference_scope(k.inference_cuda_graph_scope.value_or("none"))) return {};
       return fmt::format("inference_cuda_graph_scope must be some of {}: {}", kInferenceScopes,
                          in_quotes(*k.inference_cuda_graph_scope));
     }},
    {.id = "graph.inference-scope-fits",
     .dialects = kNamesModules,
     .outcome = kAssertionError,
     .because = "Graphs for inference are captured by the local implementation, and it always "
                "has some.",
     .remedy = "inference_cuda_graph_scope=null",
     .knobs = "inference_cuda_graph_scope cuda_graph_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const std::string scope = k.inference_cuda_graph_scope.value_or("none");
       if ((k.cuda_graph_impl == "local") == (scope != "none")) return {};
       return fmt::format("inference_cuda_graph_scope {} does not go with cuda_graph_impl {}",
                          scope, in_quotes(k.cuda_graph_impl));
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {
           setting("inference_cuda_graph_scope=null", {{"inference_cuda_graph_scope", nullptr}})};
     }},
    {.id = "graph.step-and-modules",
     .dialects = kNamesModules,
     .outcome = kAssertionError,
     .because = "A captured step captures everything.",
     .remedy = "cuda_graph_modules=[]",
     .knobs = "cuda_graph_modules cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.cuda_graph_impl != kStep || captures_nothing_named(k, s)) return {};
       return fmt::format("cuda_graph_modules must be [] with full_iteration: {}",
                          joined(k.cuda_graph_modules->words));
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("cuda_graph_modules=[]", {{"cuda_graph_modules", Value::array()},
                                                 {"cuda_graph_scope", nullptr},
                                                 {"cuda_graph_impl", "full_iteration"}})};
     }},
    {.id = "graph.step-and-nan-check",
     .dialects = since(kBridge),
     .outcome = kNote,
     .because = "A captured step cannot read its loss on the host: Megatron-LM and Megatron-Bridge "
                "raise an AssertionError unless the search for NaN is off, which is no knob of the "
                "model.",
     .remedy = "--no-check-for-nan-in-loss-and-grad, in Megatron-Bridge "
               "rerun_state_machine.check_for_nan_in_loss=False",
     .knobs = "cuda_graph_impl fp16",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.cuda_graph_impl != kStep) return {};
       // Megatron-LM turns the search off itself where the loss is scaled.
       if (s.dialect == kRefrain && k.fp16) return {};
       return "cuda_graph_impl full_iteration needs the search for NaN in loss and gradients off";
     }},
    {.id = "graph.inference-block-fp8",
     .dialects = DialectSet(kRefrain),
     .outcome = kAssertionError,
     .because = "A block at inference is captured in FP8 by the layers made for inference, with "
                "MXFP8 alone; Megatron-LM's command line checks it.",
     .remedy = "transformer_impl=inference_optimized with fp8_recipe=mxfp8, or "
               "inference_cuda_graph_scope=layer",
     .knobs = "inference_cuda_graph_scope cuda_graph_impl fp8 fp8_recipe transformer_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.inference_cuda_graph_scope != "block" || !k.fp8) return {};
       if (k.transformer_impl == "inference_optimized" && k.fp8_recipe == "mxfp8") return {};
       return fmt::format(
           "inference_cuda_graph_scope block with fp8 needs transformer_impl "
           "inference_optimized and fp8_recipe mxfp8: {} and {}",
           k.transformer_impl, k.fp8_recipe.value_or("null"));
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {
           setting("inference_cuda_graph_scope=layer", {{"inference_cuda_graph_scope", "layer"}})};
     }},
};

}  // namespace

std::span<const Rule> graph_implementation_rules() { return kImplementationRules; }

}  // namespace refrain::config
