// Command lines that people have: Megatron-LM's flags, the performance harness's, and overrides
// between them.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "config/inputs/flags/flag_table.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// Reads a command line word by word. flag_table.h says what each flag sets; others follow a rule:
/// `--a-b-c VALUE` sets a_b_c, without a value to true, `--no-a-b` and `--disable-a-b` alone set
/// a_b to false, several values are a list of words. `--flag=value` takes no further words.
/// Overrides keep their place, but for those of a knob that a flag of the harness sets: the harness
/// applies its flags last. Findings: those of parse_override, and `flag.` unknown, unexpected-word,
/// missing-value, switch-with-value, not-a-number, not-true-or-false, list-expression,
/// malformed-value, number-range, not-divisible, scope-alone, scope-not-with-te, gone, not-text,
/// too-long, too-many-words; as notes comma-in-list, not-a-knob, text-not-meant, needs-flag,
/// needs-knob, switched-off and wins.
Checked<Assignments> parse_flags(const std::vector<std::string>& words, FlagReleases releases = {});

/// True for "-x" and "--x", not for "-1" or "-.5".
bool is_flag(std::string_view word);

}  // namespace refrain::config
