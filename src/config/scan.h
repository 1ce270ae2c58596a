// Reads numbers and lists out of what people type, and quotes it back to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace refrain::config {

/// The whole of `text` as a decimal number; nothing where it is anything else or out of range.
std::optional<int64_t> parse_whole(std::string_view text);
std::optional<uint64_t> parse_unsigned(std::string_view text);
std::optional<double> parse_real(std::string_view text);  // "nan" and "inf" are numbers here

/// "700MiB", "1.5 GiB", "80GB" (decimal), "123456" (bytes); nothing where it is anything else, is
/// not a whole number of bytes above 0 (fractions are cut), or is out of range.
std::optional<Bytes> parse_bytes(std::string_view text);

/// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

/// The pieces between separators, trimmed, empty ones kept: "a, ,b" is {"a", "", "b"}.
std::vector<std::string> split(std::string_view text, char separator);

/// Whether `part` stands in `text`, and whether `word` is one of `words`.
bool contains(std::string_view text, std::string_view part);
bool contains(const std::vector<std::string>& words, std::string_view word);

/// "a, b, c".
std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");

/// 'text', fit for a terminal: control characters and broken bytes as \xNN, cut after 120 bytes.
std::string in_quotes(std::string_view text);

}  // namespace refrain::config
