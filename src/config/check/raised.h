// What ends a run whose configuration cannot be read, before any rule is asked.
#pragma once

#include <string_view>

#include "config/knobs/assignment.h"
#include "config/knobs/dialect.h"

namespace refrain::config {

/// The Python exception that a reader of command lines or overrides raises where we have the
/// finding `rule`; empty where that is not known, or where the limit is ours.
std::string_view raised_by_reading(std::string_view rule);

/// The same of a finding about a knob (configuration.h) that `origin` set.
std::string_view raised_by_knob(std::string_view rule, Origin origin, Dialect dialect);

}  // namespace refrain::config
