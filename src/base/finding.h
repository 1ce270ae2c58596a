// A Finding: the user asked for something impossible, or useless. Values, not exceptions: a phase
// collects all of them before it answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace refrain {

enum class Severity { kError, kNote };

/// `rule` is a stable id ("recompute.unknown-label"); `message` says what must hold, then the
/// values; `remedy` what to do about it.
struct Finding {
  std::string rule;
  std::string message;
  std::string remedy;
  Severity severity = Severity::kError;
};

using Findings = std::vector<Finding>;

/// A value, or the findings that kept it from being made. Notes may stand beside a value.
template <class T>
struct Checked {
  std::optional<T> value;
  Findings findings;

  static Checked accept(T value, Findings notes = {}) {
    return {std::move(value), std::move(notes)};
  }
  static Checked reject(Findings findings) { return {std::nullopt, std::move(findings)}; }
};

/// True where at least one finding is an error.
bool rejects(const Findings& findings);

/// "error[rule]: message\n  remedy: ..." a finding, in order.
std::string to_text(const Findings& findings);

/// The candidate nearest to `word` by edit distance; nothing where none is near, or where `word` is
/// longer than any name (an edit distance to a long text is slow).
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace refrain
