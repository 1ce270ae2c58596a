// The parts of the rule table that are about the model, its number formats, and the ranks and
// layers it is spread over, in the table's order.
#pragma once

#include <span>

#include "config/rules/rule.h"

namespace refrain::config {

std::span<const Rule> parallel_rules();
std::span<const Rule> precision_rules();
std::span<const Rule> moe_rules();
std::span<const Rule> layout_rules();
std::span<const Rule> model_rules();
std::span<const Rule> overlap_rules();
std::span<const Rule> gradient_rules();
std::span<const Rule> mla_rules();

}  // namespace refrain::config
