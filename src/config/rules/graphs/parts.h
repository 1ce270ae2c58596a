// The parts of the rule table that are about CUDA graphs, in the table's order.
#pragma once

#include <span>

#include "config/rules/rule.h"

namespace refrain::config {

/// The releases that capture modules of a layer, and those that call them modules.
constexpr DialectSet kCaptures = since(Dialect::kMcore_0_16_1);
constexpr DialectSet kNamesModules = since(Dialect::kMcore_0_18_2);

std::span<const Rule> graph_spelling_rules();
std::span<const Rule> graph_implementation_rules();
std::span<const Rule> graph_capture_rules();
std::span<const Rule> graph_replay_rules();

}  // namespace refrain::config
