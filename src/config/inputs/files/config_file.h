// Configuration files that people have: JSON and YAML, as knobs or as flags.
#pragma once

#include <string>
#include <string_view>

#include "base/finding.h"
#include "config/inputs/flags/flag_table.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// Reads a file's text: JSON where `name` ends in .json, or has another ending and the text starts
/// like JSON; YAML otherwise. It is one of
/// - a map of knobs, or the configuration tree of Megatron-Bridge (`model:` and its siblings):
/// paths
///   become knobs by assignments_at, a function or type written as `_target_` its last name; keys
///   that are flags are read as flags;
/// - a test file of Megatron-LM: `MODEL_ARGS:` holds flags and their values (true: the flag alone,
///   false: not given, "[a b]" a list), the rest is left out;
/// - the config.json of a Hugging Face model (model_knobs.h);
/// - an object with `kwargs`, which holds knobs.
/// Sources are the file, their place is `name:line`, or `name` for JSON. Findings: `file.`
/// not-text, too-large, malformed, number-range, too-deep, too-many-values, too-many-knobs,
/// several-documents, alias, key-not-text, merge-not-a-map, not-a-map, unknown-precision; as notes
/// duplicate-key, text-not-meant, number-not-meant, not-a-knob, flag-off, empty and elsewhere; and
/// those of parse_flags and model_knobs.
Checked<Assignments> read_config_text(std::string_view text, const std::string& name,
                                      FlagReleases releases = {});

/// Reads a file of 16 MiB at most. Throws Error where it cannot be read.
Checked<Assignments> read_config_file(const std::string& path, FlagReleases releases = {});

}  // namespace refrain::config
