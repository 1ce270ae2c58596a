// Hydra's value grammar (its OverrideLexer and OverrideParser), without sweeps and functions.
#include "config/inputs/values/literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr int kMostDepth = 16;
constexpr std::string_view kBlanks = " \t\r\n";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The end of the digits that start at `from`, single underscores between them included.
size_t digits_end(std::string_view text, size_t from) {
  size_t at = from;
  while (at < text.size()) {
    const bool joins =
        text[at] == '_' && at > from && at + 1 < text.size() && is_digit(text[at + 1]);
    if (!is_digit(text[at]) && !joins) break;
    ++at;
  }
  return at;
}

enum class NumberShape { kText, kWhole, kReal };

/// Whether text is written like a number: "-3", "1_000", ".5", "1e-3", but not "007", "nan".
NumberShape number_shape(std::string_view text) {
  const size_t start = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  size_t at = digits_end(text, start);
  const bool has_whole = at > start;
  if (has_whole && text[start] == '0' && at - start > 1) return NumberShape::kText;
  bool is_real = false;
  if (at < text.size() && text[at] == '.') {
    is_real = true;
    const size_t end = digits_end(text, at + 1);
    if (!has_whole && end == at + 1) return NumberShape::kText;
    at = end;
  } else if (!has_whole) {
    return NumberShape::kText;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    is_real = true;
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t end = digits_end(text, at);
    if (end == at) return NumberShape::kText;
    at = end;
  }
  if (at != text.size()) return NumberShape::kText;
  return is_real ? NumberShape::kReal : NumberShape::kWhole;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

/// One value, by recursive descent. The first thing that is wrong ends it.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, const Reading& reading)
      : text_(trimmed(text)), reading_(reading) {}

  Checked<Value> read() {
    Value value = text_.empty() ? Value("") : value_at(0, "");
    skip_blanks();
    if (!failed_ && at_ < text_.size()) stray();
    if (failed_) return Checked<Value>::reject(std::move(findings_));
    return Checked<Value>::accept(std::move(value), std::move(findings_));
  }

 private:
  /// `stops` end a bare word; outside brackets there are none.
  Value value_at(int depth, std::string_view stops) {
    skip_blanks();
    if (depth == kMostDepth && (peek() == '[' || peek() == '{')) return too_deep();
    switch (peek()) {
      case '[':
        return list_at(depth);
      case '{':
        return dict_at(depth);
      case '\'':
      case '"':
        return quoted_at();
      default:
        return bare_at(stops);
    }
  }

  Value list_at(int depth) {
    Value list = Value::array();
    ++at_;
    skip_blanks();
    if (take(']')) return list;
    while (true) {
      list.push_back(value_at(depth + 1, ",]"));
      skip_blanks();
      if (failed_ || take(']')) return list;
      if (!take(',')) return malformed("a list must end with ]"), list;
    }
  }

  Value dict_at(int depth) {
    Value dict = Value::object();
    ++at_;
    skip_blanks();
    if (take('}')) return dict;
    while (true) {
      const std::string key = key_at();
      if (failed_) return dict;
      if (dict.contains(key)) twice(key);
      dict[key] = value_at(depth + 1, ",}");
      skip_blanks();
      if (failed_ || take('}')) return dict;
      if (!take(',')) return malformed("a dict must end with }"), dict;
    }
  }

  std::string key_at() {
    skip_blanks();
    std::string key;
    if (peek() == '\'' || peek() == '"') {
      key = quoted_at();
    } else {
      const size_t end = text_.find_first_of(":,[]{}'\"", at_);
      key = trimmed(text_.substr(at_, end - at_));
      at_ = std::min(end, text_.size());
      if (key.empty()) malformed("a key of a dict must not be empty");
    }
    skip_blanks();
    if (!failed_ && !take(':')) malformed("a dict must be {key:value}");
    return key;
  }

  /// Backslashes count only in front of a quote: half of them stay, and an odd one keeps the quote.
  std::string quoted_at() {
    const char quote = text_[at_++];
    std::string result;
    while (at_ < text_.size()) {
      const size_t end = std::min(text_.find_first_not_of('\\', at_), text_.size());
      const size_t backslashes = end - at_;
      const bool at_quote = end < text_.size() && text_[end] == quote;
      result.append(at_quote ? backslashes / 2 : backslashes, '\\');
      at_ = end;
      if (at_ == text_.size()) break;
      ++at_;
      if (at_quote && backslashes % 2 == 0) return result;
      result += text_[at_ - 1];
    }
    malformed("quoted text must end with its quote");
    return result;
  }

  Value bare_at(std::string_view stops) {
    std::string word;
    bool escaped = false;
    for (; at_ < text_.size() && stops.find(text_[at_]) == std::string_view::npos; ++at_) {
      if (text_.substr(at_, 2) == "${") {
        if (!take_interpolation(word)) return malformed("${ must end with }"), word;
      } else if (is_escape()) {
        escaped = true;
        word += text_[++at_];
      } else if (std::string_view("[]{}'\"").find(text_[at_]) != std::string_view::npos) {
        return malformed("brackets and quotes must be paired"), word;
      } else if (text_[at_] == ',') {
        return several_values(), word;
      } else {
        word += text_[at_];
      }
    }
    return escaped ? Value(std::string(trimmed(word))) : bare_value(trimmed(word));
  }

  Value bare_value(std::string_view word) {
    if (word.empty()) return malformed("a list or dict must not have an empty place"), Value();
    Checked<Value> value = read_scalar(word, reading_);
    failed_ = failed_ || !value.value;
    for (Finding& finding : value.findings) tell_once(std::move(finding));
    return std::move(value.value).value_or(Value());
  }

  /// "${a.b}" is Hydra's to resolve; it stays as it is written.
  bool take_interpolation(std::string& word) {
    const size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) return false;
    word += text_.substr(at_, end + 1 - at_);
    at_ = end;
    return true;
  }

  bool is_escape() const {
    return text_[at_] == '\\' && at_ + 1 < text_.size() &&
           std::string_view("\\()[]{}:=, \t").find(text_[at_ + 1]) != std::string_view::npos;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  void fail(std::string_view rule, std::string message, std::string remedy) {
    if (failed_) return;
    failed_ = true;
    findings_.push_back({fmt::format("{}.{}", reading_.family, rule), std::move(message),
                         std::move(remedy), Severity::kError});
  }
  void malformed(std::string_view must_hold) {
    fail("malformed-value", fmt::format("{}: {}", must_hold, in_quotes(reading_.typed)),
         "write a list as [a,b], without blanks or in the shell's quotes, and text with brackets, "
         "commas or quotes in it as 'text'");
  }
  void stray() { malformed("nothing must follow a value's closing bracket or quote"); }
  void several_values() {
    fail("several-values", fmt::format("a value must be one value: {}", in_quotes(reading_.typed)),
         "write a list in brackets, [a,b], or text with a comma in quotes");
  }
  Value too_deep() {
    fail("too-deep",
         fmt::format("brackets must be nested {} deep at most: {}", kMostDepth,
                     in_quotes(reading_.typed)),
         "write a flatter list");
    return {};
  }
  void twice(const std::string& key) {
    tell_once({fmt::format("{}.duplicate-key", reading_.family),
               fmt::format("a key must be in a dict once: {} is there again in {}; the last one "
                           "counts",
                           in_quotes(key), in_quotes(reading_.typed)),
               "write it once", Severity::kNote});
  }
  /// One finding of a rule is enough for one value.
  void tell_once(Finding finding) {
    const bool is_new = std::none_of(findings_.begin(), findings_.end(), [&](const Finding& told) {
      return told.rule == finding.rule;
    });
    if (is_new) findings_.push_back(std::move(finding));
  }

  std::string_view text_;
  const Reading& reading_;
  size_t at_ = 0;
  bool failed_ = false;
  Findings findings_;
};

/// Text that a reader would not take for anything else, whatever stands around it.
bool is_plain(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '/' || c == '-';
  });
  if (!plain) return false;
  const Checked<Value> read = read_scalar(text, {"", ""});
  return read.value && read.value->is_string() && read.findings.empty();
}

Finding none_is_text(const Reading& reading) {
  return {
      fmt::format("{}.text-not-meant", reading.family),
      fmt::format("nothing must be written as null: None is text, in {}", in_quotes(reading.typed)),
      "write null, or quote the text", Severity::kNote};
}

std::string in_literal_quotes(const std::string& text) {
  std::string result = "'";
  size_t backslashes = 0;  // that stand right before here
  for (const char c : text) {
    if (c == '\'') result.append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    result += c;
  }
  return result.append(backslashes, '\\') + "'";
}

}  // namespace

Checked<Value> read_scalar(std::string_view text, const Reading& reading) {
  if (text == "None") return Checked<Value>::accept("None", {none_is_text(reading)});
  if (equals_ignoring_case(text, "null")) return Checked<Value>::accept({});
  if (equals_ignoring_case(text, "true")) return Checked<Value>::accept(true);
  if (equals_ignoring_case(text, "false")) return Checked<Value>::accept(false);
  const NumberShape shape = number_shape(text);
  if (shape == NumberShape::kText) return Checked<Value>::accept(std::string(text));
  std::string digits(text.substr(text[0] == '+' ? 1 : 0));
  std::erase(digits, '_');
  if (shape == NumberShape::kWhole) {
    if (const auto whole = parse_whole(digits)) return Checked<Value>::accept(*whole);
  } else if (const auto real = parse_real(digits)) {
    return Checked<Value>::accept(*real);
  }
  return Checked<Value>::reject({{fmt::format("{}.number-range", reading.family),
                                  fmt::format("a number must fit into 64 bits: {} in {}",
                                              in_quotes(text), in_quotes(reading.typed)),
                                  "write a number that fits, or text in quotes"}});
}

Checked<Value> read_literal(std::string_view text, const Reading& reading) {
  return LiteralReader(text, reading).read();
}

std::string literal_text(const Value& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return is_plain(text) ? text : in_literal_quotes(text);
  }
  if (!value.is_structured()) return value.dump();
  std::string items;
  for (const auto& [key, item] : value.items()) {
    if (!items.empty()) items += ',';
    if (value.is_object()) items += literal_text(key) + ":";
    items += literal_text(item);
  }
  return value.is_object() ? "{" + items + "}" : "[" + items + "]";
}

}  // namespace refrain::config
