// The parts of the rule table that are about recompute and offload, in the table's order.
#pragma once

#include <span>

#include "config/rules/rule.h"

namespace refrain::config {

constexpr DialectSet kOurs = DialectSet(Dialect::kRefrain);

std::span<const Rule> granularity_rules();
std::span<const Rule> label_rules();
std::span<const Rule> stream_rules();
std::span<const Rule> offload_rules();

}  // namespace refrain::config
