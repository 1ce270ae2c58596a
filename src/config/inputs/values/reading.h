// What a reader of typed text shares with the others: whom it reads for, and what is text at all.
#pragma once

#include <optional>
#include <string_view>

#include "base/finding.h"

namespace refrain::config {

/// What is being read, for findings: the family of their rule ids ("override", "flag", "file") and
/// the whole of what was typed. Both must outlive the reading.
struct Reading {
  std::string_view family;
  std::string_view typed;
};

/// Where `text` stops being UTF-8 without NUL bytes; nothing where it is that to its end.
std::optional<size_t> first_bad_byte(std::string_view text);

/// A finding `family.not-text` where `typed` has such a byte.
std::optional<Finding> not_text(const Reading& reading);

}  // namespace refrain::config
