// The one table of rules.
#pragma once

#include <vector>

#include "config/rules/rule.h"

namespace refrain::config {

/// Every rule, in the order in which Megatron-Core checks them: the first error is the one it
/// raises, and rewrites are seen by the rules that follow.
std::vector<const Rule*> all_rules();

}  // namespace refrain::config
