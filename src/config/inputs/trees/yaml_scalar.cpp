// Sources: PyYAML's resolver.py and constructor.py (SafeLoader), which Megatron-LM's tests read
// their files with; OmegaConf's get_yaml_loader (omegaconf/_utils.py), Megatron-Bridge's reader.
#include "config/inputs/trees/yaml_scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr std::string_view kDecimal = "0123456789_";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_made_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

std::string without_underscores(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '_');
  return plain;
}

bool has_sign(std::string_view text) { return text.starts_with('+') || text.starts_with('-'); }

/// A whole number in its parts; `digits` may hold underscores.
struct Whole {
  int base = 0;  // 0: it is none
  std::string_view digits;
};

Whole whole_of(std::string_view body) {
  if (body.starts_with("0b") && is_made_of(body.substr(2), "01_")) return {2, body.substr(2)};
  if (body.starts_with("0x") && is_made_of(body.substr(2), "0123456789abcdefABCDEF_")) {
    return {16, body.substr(2)};
  }
  if (body == "0") return {10, body};
  if (body.starts_with('0')) {
    return is_made_of(body.substr(1), "01234567_") ? Whole{8, body.substr(1)} : Whole{};
  }
  return is_made_of(body, kDecimal) && body[0] != '_' ? Whole{10, body} : Whole{};
}

std::optional<int64_t> number_of(const Whole& whole, bool is_negative) {
  const std::string digits = without_underscores(whole.digits);
  if (digits.empty() && whole.base == 8) return 0;  // "0_"
  const std::string text = (is_negative ? "-" : "") + digits;
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, whole.base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// 1:30 in the base of 60; nothing where the text is no such number. Beyond 64 bits it is text.
std::optional<int64_t> sexagesimal(std::string_view body) {
  constexpr size_t kLongest = 40;  // no number of 64 bits is as long
  const bool may_be = body.size() <= kLongest && body.find(':') != std::string_view::npos;
  if (!may_be || body.starts_with('0') || body.starts_with('_')) return {};
  const std::vector<std::string> parts = split(body, ':');
  int64_t total = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool fits = i == 0 ? is_made_of(parts[i], kDecimal) : is_made_of(parts[i], "0123456789");
    const auto part = fits ? parse_whole(without_underscores(parts[i])) : std::nullopt;
    if (!part || (i > 0 && *part > 59)) return {};
    if (__builtin_mul_overflow(total, 60, &total) || __builtin_add_overflow(total, *part, &total)) {
      return {};
    }
  }
  return total;
}

/// Whether the text is written like a real number: 1.5, 1., .5, 1e3, 1_0.5e-3.
bool is_real(std::string_view text) {
  const bool starts_with_point = text.starts_with('.');
  const std::string_view body = text.substr(has_sign(text) ? 1 : 0);
  const size_t exponent = body.find_first_of("eE");
  const std::string_view mantissa = body.substr(0, exponent);
  const size_t point = mantissa.find('.');
  const std::string_view before = mantissa.substr(0, point);
  const std::string_view after =
      point == std::string_view::npos ? std::string_view() : mantissa.substr(point + 1);
  const auto is_digits = [](std::string_view part) {
    return part.find_first_not_of(kDecimal) == std::string_view::npos;
  };
  if (!is_digits(before) || !is_digits(after)) return false;
  if (starts_with_point ? after.find_first_of("0123456789") == std::string_view::npos
                        : before.empty() || before[0] == '_') {
    return false;
  }
  if (exponent == std::string_view::npos) return point != std::string_view::npos;
  const std::string_view power = body.substr(exponent + 1);
  if (starts_with_point && !has_sign(power)) return false;
  return is_made_of(power.substr(has_sign(power) ? 1 : 0), "0123456789");
}

PlainScalar out_of_range() { return {.value = {}, .fits = false, .remark = {}}; }

PlainScalar remarked_number(const std::string& text, int64_t number, std::string_view why) {
  return {.value = number,
          .fits = true,
          .remark = PlainScalar::Remark{
              "number-not-meant",
              fmt::format("a number must be what it looks like: {} is {} to YAML 1.1, {}",
                          in_quotes(text), number, why),
              fmt::format("write {}, or quote the text", number)}};
}

/// What PyYAML leaves as text though people mean something else by it.
std::optional<PlainScalar::Remark> remark_on_text(const std::string& text) {
  if (text == "None") {
    return PlainScalar::Remark{"text-not-meant", "nothing must be written as null: 'None' is text",
                               "write null"};
  }
  const std::string_view body = std::string_view(text).substr(has_sign(text) ? 1 : 0);
  const bool octal_of_2 = body.starts_with("0o") && is_made_of(body.substr(2), "01234567");
  const bool no_octal = body.size() > 1 && body[0] == '0' && is_made_of(body, "0123456789");
  if (!octal_of_2 && !no_octal) return {};
  return PlainScalar::Remark{
      "text-not-meant",
      fmt::format("a number must be written as YAML 1.1 has it: {} is text", in_quotes(text)),
      "write it without the 0 before it, or quote the text"};
}

}  // namespace

PlainScalar plain_scalar(const std::string& text) {
  if (is_one_of(text, {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})) {
    return {.value = true};
  }
  if (is_one_of(text, {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})) {
    return {.value = false};
  }
  const std::string_view body = std::string_view(text).substr(has_sign(text) ? 1 : 0);
  const bool is_negative = text.starts_with('-');
  if (const Whole whole = whole_of(body); whole.base != 0) {
    const auto number = number_of(whole, is_negative);
    if (!number) return out_of_range();
    const bool is_surprising =
        whole.base == 8 && (*number > 7 || *number < -7);  // 007 is seven either way
    return is_surprising ? remarked_number(text, *number, "which reads it as octal")
                         : PlainScalar{.value = *number};
  }
  if (const auto number = sexagesimal(body)) {
    return remarked_number(text, is_negative ? -*number : *number, "which counts by sixties");
  }
  if (is_real(text)) {
    const auto real = parse_real(without_underscores(text.starts_with('+') ? body : text));
    return real ? PlainScalar{.value = *real} : out_of_range();
  }
  return {.value = text, .fits = true, .remark = remark_on_text(text)};
}

}  // namespace refrain::config
