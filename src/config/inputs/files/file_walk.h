// From the tree of a configuration file to what it sets.
#pragma once

#include <string>

#include "base/finding.h"
#include "config/inputs/flags/flag_table.h"
#include "config/inputs/trees/file_tree.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// See read_config_text.
Checked<Assignments> read_tree(const FileNode& root, const std::string& name,
                               FlagReleases releases);

}  // namespace refrain::config
