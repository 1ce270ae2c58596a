// Megatron-Bridge's recipes of mixed precision, by their names.
#pragma once

#include <string>

#include "base/finding.h"
#include "config/inputs/values/reading.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// What the recipe sets in the model; dashes count as underscores. `family.unknown-precision`, with
/// the nearest, where there is none of that name.
Checked<Assignments> precision_assignments(std::string name, const Source& source,
                                           const Reading& reading);

}  // namespace refrain::config
