// What CUDA graphs capture, in whichever spelling a dialect has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/rules/rule.h"

namespace refrain::config {

/// From 0.18.2 on `cuda_graph_modules` says what is captured, before it `cuda_graph_scope`.
inline bool names_modules(const Context& s) { return s.dialect >= Dialect::kMcore_0_18_2; }

/// The words as given, a text split at its commas without trimming.
std::vector<std::string> graph_words(const Knobs& k, const Context& s);

/// Whether a module is captured, once the words are normalised.
bool captures(const Knobs& k, const Context& s, std::string_view module);

bool captures_nothing_named(const Knobs& k, const Context& s);

/// Whole layers or the whole step.
bool captures_whole(const Knobs& k, const Context& s);

/// A graph a layer or module, not one a step.
bool per_layer(const Knobs& k, const Context& s);

}  // namespace refrain::config
