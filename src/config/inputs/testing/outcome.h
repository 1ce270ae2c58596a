// What tests compare: what was read as one text, or the rules that broke.
#pragma once

#include <string>

#include "base/finding.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// "override.no-value flag.unknown".
std::string rules_of(const Findings& findings);

/// Assignments as overrides, "x=1 ~y", or "!override.no-value".
std::string outcome(const Checked<Assignments>& read);

/// The value as JSON, or "!override.no-value".
std::string outcome(const Checked<Value>& read);

}  // namespace refrain::config
