// What `refrain check` is given: files first, then flags and overrides.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "config/inputs/flags/flag_table.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// Reads words that are left of a command line. Those at its start that name a file (one that
/// exists, or a name that ends in .yaml, .yml or .json) are read in their order; then come flags
/// and overrides, which win over files. All findings of all of them at once. Throws Error where a
/// file cannot be read.
Checked<Assignments> read_words(const std::vector<std::string>& words, FlagReleases releases = {});

}  // namespace refrain::config
