// What tests compare: assignments as overrides with blanks between them, or the rules that broke.
#pragma once

#include <string>

#include "config/inputs/overrides.h"

namespace refrain::config {

inline std::string rules_of(const Findings& findings) {
  std::string rules;
  for (const Finding& finding : findings) rules += (rules.empty() ? "" : " ") + finding.rule;
  return rules;
}

/// "x=1 ~y", or "!override.no-value".
inline std::string outcome(const Checked<Assignments>& read) {
  if (read.value.has_value() == rejects(read.findings)) return "a value with errors, or neither";
  if (!read.value) return "!" + rules_of(read.findings);
  std::string text;
  for (const Assignment& a : *read.value) text += (text.empty() ? "" : " ") + to_text(a);
  return text;
}

}  // namespace refrain::config
