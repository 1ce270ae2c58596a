// What CUDA graphs capture, in whichever spelling a dialect has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/rules/rule.h"

namespace refrain::config {

// Words of the releases before 0.18 for what is no module; other knobs say it since.
constexpr std::string_view kStep = "full_iteration";  // cuda_graph_impl's name of the same, too
constexpr std::string_view kInferenceStep = "full_iteration_inference";
constexpr std::string_view kWholeLayer = "full";

constexpr std::string_view kInferenceScopes = "none, layer, block";
inline bool is_inference_scope(std::string_view scope) {
  return scope == "none" || scope == "layer" || scope == "block";
}

/// From 0.18.2 on `cuda_graph_modules` says what is captured, before it `cuda_graph_scope`.
inline bool names_modules(const Context& s) { return s.dialect >= Dialect::kMcore_0_18_2; }

/// The knob that says what is captured.
inline std::optional<WordList>& captured_list(Knobs& k, const Context& s) {
  return names_modules(s) ? k.cuda_graph_modules : k.cuda_graph_scope;
}

/// The words of a list as given, a text split at its commas without trimming.
std::vector<std::string> words_of(const std::optional<WordList>& list);

/// The words that say what is captured.
std::vector<std::string> graph_words(const Knobs& k, const Context& s);

/// Whether a module is captured, once the words are normalised.
bool captures(const Knobs& k, const Context& s, std::string_view module);

bool captures_nothing_named(const Knobs& k, const Context& s);

/// Whole layers or the whole step.
bool captures_whole(const Knobs& k, const Context& s);

bool captures_something(const Knobs& k);

/// A graph a layer or module, not one a step.
bool per_layer(const Knobs& k, const Context& s);

/// The remedy "no graphs", in the dialect's spelling.
std::vector<Remedy> graphs_off(const Knobs& k, const Context& s);

}  // namespace refrain::config
