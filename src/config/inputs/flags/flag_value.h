// The words that stand after a flag, as its value.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "config/inputs/flags/flag_table.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// A flag with the words that stand after it.
struct FlagUse {
  std::string flag;  // as typed, with its dashes
  std::vector<std::string> words;
  Source source;
};

/// The value of a flag of that kind. Findings: `flag.` missing-value, switch-with-value,
/// not-a-number, not-true-or-false, list-expression, number-range, gone; as notes comma-in-list and
/// text-not-meant.
Checked<Value> value_of(FlagKind kind, const FlagUse& use);

/// The value of a flag that no row has: true without a word, or false where `is_off`; a scalar, a
/// literal in brackets or quotes, or several words as a list.
Checked<Value> value_by_rule(const FlagUse& use, bool is_off);

/// "[a b]" and "[a,b]" as a and b, other words as they are: how a shell cuts a bracketed list of a
/// Megatron-LM test file.
std::vector<std::string> without_brackets(const std::vector<std::string>& words);

}  // namespace refrain::config
