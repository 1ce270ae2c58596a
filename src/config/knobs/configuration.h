// Assignments become knobs, each with where it came from.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/finding.h"
#include "config/knobs/assignment.h"
#include "config/knobs/knob_table.h"

namespace refrain::config {

struct Configuration {
  Knobs knobs;
  std::map<std::string_view, Source> sources;  // of the knobs that somebody set, by name
};

/// Carries one assignment out over a dialect's `defaults`. A finding, or a note, where it cannot
/// be, as of configure.
std::optional<Finding> apply(const Assignment& assignment, Dialect dialect, const Knobs& defaults,
                             Configuration& configuration);

/// Carries assignments out over a dialect's defaults. Findings: a knob nobody has, with the
/// nearest; one that this dialect does not have (yet, or any more); a value of another type.
Checked<Configuration> configure(const Assignments& assignments, Dialect dialect);

}  // namespace refrain::config
