// CUDA graphs, first part: old spellings and what becomes of them.
#include <algorithm>
#include <set>

#include "config/rules/graph_words.h"
#include "config/rules/graphs/parts.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr DialectSet kNormalises = since(kMcore_0_16_1);

/// The modules a dialect knows, deprecated words included.
std::vector<std::string> known_modules(const Context& s) {
  std::vector<std::string> names = {
      "attn", "mlp", "moe", "moe_router", "moe_preprocess", "mamba", std::string(kStep)};
  if (s.dialect >= kMcore_0_17_1) names.emplace_back(kInferenceStep);
  return names;
}

std::vector<std::string> unknown_modules(const Knobs& k, const Context& s) {
  std::vector<std::string> words = graph_words(k, s);
  if (contains(words, kWholeLayer)) return {};
  const std::vector<std::string> known = known_modules(s);
  std::erase_if(words, [&](const std::string& word) { return contains(known, word); });
  return words;
}

bool is_deprecated(std::string_view word) { return word == kStep || word == kInferenceStep; }

/// Words of the releases before 0.18 that other knobs say now.
std::set<std::string> deprecated(const Knobs& k, const Context& s) {
  std::set<std::string> found;
  for (const std::string& word : graph_words(k, s)) {
    if (is_deprecated(word)) found.insert(word);
  }
  return found;
}

bool only(const std::set<std::string>& words, std::string_view word) {
  return words.size() == 1 && *words.begin() == word;
}

void normalise(Knobs& k, const Context& s) {
  const std::vector<std::string> unknown = unknown_modules(k, s);
  WordList kept;
  for (const std::string& word : graph_words(k, s)) {
    const bool moved = names_modules(s) && is_deprecated(word);
    if (word != kWholeLayer && !moved && !contains(unknown, word)) kept.words.push_back(word);
  }
  captured_list(k, s) = kept;
}

bool is_normal(const Knobs& k, const Context& s) {
  const auto& list = names_modules(s) ? k.cuda_graph_modules : k.cuda_graph_scope;
  return list && !list->is_text && deprecated(k, s).empty() && !list->has(kWholeLayer);
}

/// What both names of the knob say before one takes over from the other, but the whole layer.
std::vector<std::string> words_of_both(const Knobs& k) {
  std::vector<std::string> words;
  for (const auto* list : {&k.cuda_graph_modules, &k.cuda_graph_scope}) {
    for (std::string& word : words_of(*list)) {
      if (!word.empty() && word != kWholeLayer) words.push_back(std::move(word));
    }
  }
  return words;
}

/// Megatron-Bridge trains with the local implementation if it captures the whole step, or if what
/// it captures is for inference.
bool is_local_of_bridge(const Knobs& k) {
  const std::vector<std::string> words = words_of_both(k);
  if (contains(words, kStep)) return true;
  const bool names_module = !std::all_of(words.begin(), words.end(), is_deprecated);
  const auto& scope = k.inference_cuda_graph_scope;
  return !names_module && (scope == "layer" || scope == "block");
}

constexpr Rule kSpellingRules[] = {
    {.id = "graph.offload-old",
     .dialects = until(kMcore_0_14_0),
     .outcome = kValueError,
     .because = "A graph fixes addresses, which offload moves.",
     .remedy = "enable_cuda_graph=false, or cpu_offloading=false",
     .knobs = "enable_cuda_graph cpu_offloading",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_cuda_graph || !k.cpu_offloading) return {};
       return "enable_cuda_graph excludes cpu_offloading: both are true";
     }},
    {.id = "graph.recompute-old",
     .dialects = until(kMcore_0_14_0),
     .outcome = kValueError,
     .because = "These releases cannot capture a replay.",
     .remedy = "enable_cuda_graph=false, or recompute_granularity=null",
     .knobs = "enable_cuda_graph recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_cuda_graph || !is_told(k.recompute_granularity)) return {};
       return fmt::format("enable_cuda_graph excludes recompute: {}", *k.recompute_granularity);
     }},
    {.id = "graph.local-in-training",
     .dialects = DialectSet(kBridge),
     .outcome = kValueError,
     .because = "Megatron-Bridge trains with TransformerEngine's graphs or with a captured step.",
     .remedy = "cuda_graph_impl=transformer_engine or full_iteration",
     .knobs = "cuda_graph_impl cuda_graph_modules cuda_graph_scope inference_cuda_graph_scope",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.cuda_graph_impl != "local" || is_local_of_bridge(k)) return {};
       return "cuda_graph_impl local must capture the whole step, or name no module and "
              "inference_cuda_graph_scope layer or block";
     },
     .remedies = [](const Knobs& k, const Context& s) -> std::vector<Remedy> {
       return before({setting("cuda_graph_impl=transformer_engine",
                              {{"cuda_graph_impl", "transformer_engine"},
                               {"inference_cuda_graph_scope", nullptr}})},
                     graphs_off(k, s));
     }},
    {.id = "graph.modules-cleared",
     .dialects = DialectSet(kBridge),
     .outcome = kRewrite,
     .because = "Megatron-Bridge clears what graphs capture while cuda_graph_impl is none, before "
                "Megatron-Core looks at it.",
     .remedy = "set cuda_graph_impl, or drop the modules",
     .knobs = "cuda_graph_impl cuda_graph_modules cuda_graph_scope",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const std::vector<std::string> words = words_of_both(k);
       if (captures_something(k) || words.empty()) return {};
       return fmt::format(
           "what graphs capture becomes []: cuda_graph_impl is none, so {} does "
           "nothing",
           joined(words));
     },
     .rewrite =
         [](Knobs& k, const Context&) {
           k.cuda_graph_modules = WordList{};
           k.cuda_graph_scope.reset();
         }},
    {.id = "graph.two-spellings",
     .dialects = since(kMcore_0_15_3),
     .outcome = kAssertionError,
     .because = "The old flags mean an implementation.",
     .remedy = "cuda_graph_impl alone",
     .knobs = "enable_cuda_graph external_cuda_graph cuda_graph_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if ((!k.enable_cuda_graph && !k.external_cuda_graph) || k.cuda_graph_impl == "none") {
         return {};
       }
       return fmt::format("the deprecated flags exclude cuda_graph_impl: {}",
                          in_quotes(k.cuda_graph_impl));
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("drop the deprecated flags",
                       {{"enable_cuda_graph", false}, {"external_cuda_graph", false}})};
     }},
    {.id = "graph.two-flags",
     .dialects = since(kMcore_0_15_3),
     .outcome = kAssertionError,
     .because = "One implementation captures.",
     .remedy = "one of the two",
     .knobs = "enable_cuda_graph external_cuda_graph",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_cuda_graph || !k.external_cuda_graph) return {};
       return "enable_cuda_graph excludes external_cuda_graph: both are true";
     }},
    {.id = "graph.flags-deprecated",
     .dialects = since(kMcore_0_15_3),
     .outcome = kRewrite,
     .because = "The implementation has a knob of its own.",
     .remedy = "cuda_graph_impl=local or transformer_engine",
     .knobs = "enable_cuda_graph external_cuda_graph cuda_graph_impl",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_cuda_graph && !k.external_cuda_graph) return {};
       return fmt::format("cuda_graph_impl becomes {}: {} is deprecated",
                          k.external_cuda_graph ? "transformer_engine" : "local",
                          k.external_cuda_graph ? "external_cuda_graph" : "enable_cuda_graph");
     },
     .rewrite =
         [](Knobs& k, const Context&) {
           k.cuda_graph_impl = k.external_cuda_graph ? "transformer_engine" : "local";
         }},
    {.id = "graph.scope-and-modules",
     .dialects = kNamesModules,
     .outcome = kAssertionError,
     .because = "They are two names of one knob.",
     .remedy = "cuda_graph_modules alone",
     .knobs = "cuda_graph_scope cuda_graph_modules",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.cuda_graph_scope || !k.cuda_graph_modules || k.cuda_graph_modules->empty() ||
           k.cuda_graph_modules == WordList{{"full"}, true}) {
         return {};
       }
       return "cuda_graph_scope excludes cuda_graph_modules: both are set";
     }},
    {.id = "graph.scope-renamed",
     .dialects = kNamesModules,
     .outcome = kRewrite,
     .because = "The knob has another name since 0.18.",
     .remedy = "cuda_graph_modules",
     .knobs = "cuda_graph_scope cuda_graph_modules",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.cuda_graph_scope) return {};
       return "cuda_graph_modules takes over what cuda_graph_scope says, which is deprecated";
     },
     .rewrite =
         [](Knobs& k, const Context&) {
           k.cuda_graph_modules = k.cuda_graph_scope;
           k.cuda_graph_scope.reset();
         }},
    {.id = "graph.full-alone",
     .dialects = kNormalises,
     .outcome = kAssertionError,
     .because = "The whole layer holds its modules.",
     .remedy = "an empty list for whole layers",
     .knobs = "cuda_graph_modules cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const std::vector<std::string> words = graph_words(k, s);
       if (!contains(words, kWholeLayer) || words.size() == 1) return {};
       return fmt::format("full must stand alone: {}", joined(words));
     },
     .remedies = graphs_off},
    {.id = "graph.unknown-module",
     .dialects = kNormalises,
     .outcome = kKeyError,
     .because = "Each word names something that can be captured; blanks count.",
     .remedy = "use words of this dialect",
     .knobs = "cuda_graph_modules cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const std::vector<std::string> unknown = unknown_modules(k, s);
       if (unknown.empty()) return {};
       const auto near = nearest(unknown[0], known_modules(s));
       return fmt::format("what a graph captures must be some of {}: {}{}",
                          joined(known_modules(s)), in_quotes(joined(unknown, ",")),
                          near ? fmt::format(" (did you mean {}?)", *near) : "");
     },
     .remedies = graphs_off},
    {.id = "graph.two-deprecated",
     .dialects = kNamesModules,
     .outcome = kAssertionError,
     .because = "Each is said by another knob now.",
     .remedy = "cuda_graph_impl=full_iteration, or inference_cuda_graph_scope=block",
     .knobs = "cuda_graph_modules cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (deprecated(k, s).size() < 2) return {};
       return fmt::format("{} excludes {}", kStep, kInferenceStep);
     },
     .remedies = graphs_off},
    {.id = "graph.unknown-inference-scope",
     .dialects = kNamesModules,
     .outcome = kKeyError,
     .because = "A graph at inference captures a layer or a block.",
     .remedy = "none, layer or block",
     .knobs = "inference_cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const auto& scope = k.inference_cuda_graph_scope;
       if (!scope || is_inference_scope(*scope)) return {};
       if (deprecated(k, s).empty()) return {};  // told further down
       return fmt::format("inference_cuda_graph_scope must be some of {}: {}", kInferenceScopes,
                          in_quotes(*scope));
     }},
    {.id = "graph.step-implementation",
     .dialects = kNamesModules,
     .outcome = kAssertionError,
     .because = "The whole step is captured by the implementation of that name.",
     .remedy = "cuda_graph_impl=full_iteration and no modules",
     .knobs = "cuda_graph_modules cuda_graph_scope cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const std::string& impl = k.cuda_graph_impl;
       if (!only(deprecated(k, s), kStep) || impl == "none" || impl == "local" || impl == kStep) {
         return {};
       }
       return fmt::format("{} among the modules excludes cuda_graph_impl {}", kStep,
                          in_quotes(impl));
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("cuda_graph_impl=full_iteration", {{"cuda_graph_impl", "full_iteration"},
                                                          {"cuda_graph_modules", Value::array()},
                                                          {"cuda_graph_scope", nullptr}})};
     }},
    {.id = "graph.step-inference",
     .dialects = kNamesModules,
     .outcome = kAssertionError,
     .because = "A captured training step has no graph for inference.",
     .remedy = "inference_cuda_graph_scope=null",
     .knobs = "cuda_graph_modules cuda_graph_scope inference_cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const auto& scope = k.inference_cuda_graph_scope;
       if (!only(deprecated(k, s), kStep) || !scope || scope == "none") return {};
       return fmt::format("{} among the modules excludes inference_cuda_graph_scope {}", kStep,
                          *scope);
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {
           setting("inference_cuda_graph_scope=null", {{"inference_cuda_graph_scope", nullptr}})};
     }},
    {.id = "graph.inference-implementation",
     .dialects = kNamesModules,
     .outcome = kAssertionError,
     .because = "Graphs for inference are captured by the local implementation.",
     .remedy = "cuda_graph_impl=local with inference_cuda_graph_scope=block",
     .knobs = "cuda_graph_modules cuda_graph_scope cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const std::string& impl = k.cuda_graph_impl;
       if (!only(deprecated(k, s), kInferenceStep) || impl == "none" || impl == "local") return {};
       return fmt::format("{} among the modules excludes cuda_graph_impl {}", kInferenceStep,
                          in_quotes(impl));
     },
     .remedies = graphs_off},
    {.id = "graph.inference-scope-deprecated",
     .dialects = kNamesModules,
     .outcome = kAssertionError,
     .because = "The old word means a block.",
     .remedy = "inference_cuda_graph_scope=block",
     .knobs = "cuda_graph_modules cuda_graph_scope inference_cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const auto& scope = k.inference_cuda_graph_scope;
       if (!only(deprecated(k, s), kInferenceStep) || !scope || scope == "block") return {};
       return fmt::format("{} among the modules excludes inference_cuda_graph_scope {}",
                          kInferenceStep, *scope);
     },
     .remedies = graphs_off},
    {.id = "graph.step-deprecated",
     .dialects = kNamesModules,
     .outcome = kRewrite,
     .because = "The whole step is an implementation now, and the old word turns it on even where "
                "graphs were off.",
     .remedy = "cuda_graph_impl=full_iteration",
     .knobs = "cuda_graph_modules cuda_graph_scope cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!deprecated(k, s).contains(std::string(kStep))) return {};
       return fmt::format("cuda_graph_impl becomes {}: it was {}", kStep, k.cuda_graph_impl);
     },
     .rewrite = [](Knobs& k, const Context&) { k.cuda_graph_impl = kStep; }},
    {.id = "graph.inference-deprecated",
     .dialects = kNamesModules,
     .outcome = kRewrite,
     .because = "What a graph captures at inference has a knob of its own.",
     .remedy = "inference_cuda_graph_scope=block with cuda_graph_impl=local",
     .knobs = "cuda_graph_modules cuda_graph_scope inference_cuda_graph_scope cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!deprecated(k, s).contains(std::string(kInferenceStep)) || k.cuda_graph_impl == "none") {
         return {};
       }
       return "inference_cuda_graph_scope becomes block";
     },
     .rewrite = [](Knobs& k, const Context&) { k.inference_cuda_graph_scope = "block"; }},
    {.id = "graph.inference-without-graphs",
     .dialects = kNamesModules,
     .outcome = kInactive,
     .because = "Nothing is captured while cuda_graph_impl is none.",
     .remedy = "cuda_graph_impl=local",
     .knobs = "cuda_graph_modules cuda_graph_scope cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!deprecated(k, s).contains(std::string(kInferenceStep)) || k.cuda_graph_impl != "none") {
         return {};
       }
       return fmt::format("{} among the modules does nothing: cuda_graph_impl is none",
                          kInferenceStep);
     }},
    {.id = "graph.words-normalised",
     .dialects = kNormalises,
     .outcome = kFill,
     .because = "A text becomes a list, full becomes an empty one, and old words go.",
     .remedy = "",
     .knobs = "cuda_graph_modules cuda_graph_scope",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (is_normal(k, s)) return {};
       return "what graphs capture becomes a list of modules";
     },
     .rewrite = normalise},
    {.id = "graph.modules-without-graphs",
     .dialects = kNormalises,
     .outcome = kInactive,
     .because = "Nothing is captured while cuda_graph_impl is none.",
     .remedy = "set cuda_graph_impl, or drop the modules",
     .knobs = "cuda_graph_modules cuda_graph_scope cuda_graph_impl",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.cuda_graph_impl != "none" || captures_nothing_named(k, s)) return {};
       return fmt::format("{} does nothing: cuda_graph_impl is none",
                          names_modules(s) ? "cuda_graph_modules" : "cuda_graph_scope");
     }},
};

}  // namespace

std::span<const Rule> graph_spelling_rules() { return kSpellingRules; }

}  // namespace refrain::config
