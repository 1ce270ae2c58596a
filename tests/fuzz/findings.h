// What holds of the findings of every parser, whatever it was given.
#pragma once

#include <algorithm>

#include "base/error.h"
#include "base/finding.h"

namespace refrain::fuzz {

/// Each finding has a rule and a message that a terminal can show and a screen can hold, and there
/// are no more of them than the input and the table of its fields account for.
inline void hold(const Findings& findings, size_t input_bytes) {
  constexpr size_t kLongest = size_t{1} << 16, kMostFields = 64;
  RC_CHECK(findings.size() <= input_bytes + kMostFields, "{} of {} bytes", findings.size(),
           input_bytes);
  for (const auto& [rule, message, remedy, severity] : findings) {
    RC_CHECK(!rule.empty() && !message.empty(), "{}: {}", rule, message);
    for (const std::string* text : {&rule, &message, &remedy}) {
      RC_CHECK(text->size() <= kLongest, "{}: {} bytes", rule, text->size());
      RC_CHECK(std::ranges::all_of(*text, [](char c) { return c >= ' ' && c <= '~'; }), "{}: {}",
               rule, *text);
    }
  }
}

/// Either a value and no error, or errors and no value.
template <class T>
void hold(const Checked<T>& checked, size_t input_bytes) {
  RC_CHECK(checked.value.has_value() != rejects(checked.findings), "{}", to_text(checked.findings));
  hold(checked.findings, input_bytes);
}

}  // namespace refrain::fuzz
