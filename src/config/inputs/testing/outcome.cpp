#include "config/inputs/testing/outcome.h"

#include "config/inputs/overrides/overrides.h"

namespace refrain::config {
namespace {

/// What is wrong with the answer itself, or was found; nothing where there is a value.
template <class T>
std::string refusal(const Checked<T>& read) {
  if (read.value.has_value() == rejects(read.findings)) return "a value with errors, or neither";
  return read.value ? "" : "!" + rules_of(read.findings);
}

}  // namespace

std::string rules_of(const Findings& findings) {
  std::string rules;
  for (const Finding& finding : findings) rules += (rules.empty() ? "" : " ") + finding.rule;
  return rules;
}

std::string outcome(const Checked<Assignments>& read) {
  std::string text = refusal(read);
  if (!text.empty()) return text;
  for (const Assignment& a : *read.value) text += (text.empty() ? "" : " ") + to_text(a);
  return text;
}

std::string outcome(const Checked<Value>& read) {
  const std::string text = refusal(read);
  return text.empty() ? read.value->dump() : text;
}

}  // namespace refrain::config
