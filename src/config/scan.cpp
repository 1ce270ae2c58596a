#include "config/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace refrain::config {
namespace {

constexpr size_t kQuotedBytes = 120;

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<int64_t> parse_whole(std::string_view text) { return parse<int64_t>(text); }
std::optional<uint64_t> parse_unsigned(std::string_view text) { return parse<uint64_t>(text); }
std::optional<double> parse_real(std::string_view text) { return parse<double>(text); }

std::optional<Bytes> parse_bytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    int64_t bytes;
  };
  constexpr Unit kUnits[] = {{"TiB", int64_t{1} << 40},
                             {"GiB", 1 << 30},
                             {"MiB", 1 << 20},
                             {"KiB", 1 << 10},
                             {"TB", 1'000'000'000'000},
                             {"GB", 1'000'000'000},
                             {"MB", 1'000'000},
                             {"KB", 1'000},
                             {"kB", 1'000},
                             {"B", 1}};
  constexpr int64_t kMost = int64_t{1} << 62;
  text = trimmed(text);
  int64_t unit_bytes = 1;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    unit_bytes = unit.bytes;
    text = trimmed(text.substr(0, text.size() - unit.name.size()));
    break;
  }
  // A double holds whole numbers up to 2^53 only.
  if (const std::optional<int64_t> whole = parse_whole(text)) {
    if (*whole < 1 || *whole > kMost / unit_bytes) return std::nullopt;
    return Bytes(*whole * unit_bytes);
  }
  const double bytes = parse_real(text).value_or(0) * static_cast<double>(unit_bytes);
  if (!(bytes >= 1 && bytes <= static_cast<double>(kMost))) return std::nullopt;
  return Bytes(static_cast<int64_t>(bytes));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  while (true) {
    const size_t end = text.find(separator);
    pieces.emplace_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, kQuotedBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", byte);
    }
  }
  return result + (text.size() > kQuotedBytes ? "...'" : "'");
}

}  // namespace refrain::config
