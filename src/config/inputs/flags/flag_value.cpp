#include "config/inputs/flags/flag_value.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/inputs/values/list_expression.h"
#include "config/inputs/values/literal.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using ReadValue = Checked<Value>;

std::string typed_text(const FlagUse& use) {
  return use.words.empty() ? use.flag : fmt::format("{} {}", use.flag, joined(use.words, " "));
}

ReadValue reject(std::string_view rule, std::string message, std::string remedy) {
  return ReadValue::reject({{fmt::format("flag.{}", rule), std::move(message), std::move(remedy)}});
}

ReadValue missing_value(const FlagUse& use) {
  return reject("missing-value",
                fmt::format("a flag must be followed by its value: {}", in_quotes(use.flag)),
                fmt::format("write {} VALUE", use.flag));
}

ReadValue whole(const FlagUse& use, const std::string& word) {
  if (const auto number = parse_whole(word)) return ReadValue::accept(*number);
  return reject(
      "not-a-number",
      fmt::format("{} must be a whole number of 64 bits at most: {}", use.flag, in_quotes(word)),
      fmt::format("write {} NUMBER", use.flag));
}

ReadValue whole_or_none(const FlagUse& use, const std::string& word) {
  if (word == "None" || word == "null") return ReadValue::accept({});
  return whole(use, word);
}

ReadValue text_or_none(const std::string& word) {
  return ReadValue::accept(word == "None" ? Value() : Value(word));
}

ReadValue yes_or_no(const FlagUse& use, std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const char* yes : {"true", "1", "t", "yes", "y"}) {
    if (word == yes) return ReadValue::accept(true);
  }
  for (const char* no : {"false", "0", "f", "no", "n"}) {
    if (word == no) return ReadValue::accept(false);
  }
  return reject("not-true-or-false",
                fmt::format("{} must be true or false: {}", use.flag, in_quotes(word)),
                fmt::format("write {} true", use.flag));
}

/// A word of a flag whose type nobody knows.
ReadValue any_word(const std::string& word, const Reading& reading) {
  const bool is_bracketed = word.starts_with('[') || word.starts_with('{');
  const bool is_quoted = word.starts_with('"') || word.starts_with('\'');
  return is_bracketed || is_quoted ? read_literal(word, reading) : read_scalar(word, reading);
}

ReadValue one_word(FlagKind kind, const FlagUse& use, const Reading& reading) {
  if (use.words.empty()) {
    return kind == FlagKind::kOptional ? ReadValue::accept({}) : missing_value(use);
  }
  const std::string& word = use.words[0];
  switch (kind) {
    case FlagKind::kWhole:
      return whole(use, word);
    case FlagKind::kOptional:
    case FlagKind::kWholeOrNone:
      return whole_or_none(use, word);
    case FlagKind::kYesNo:
      return yes_or_no(use, word);
    case FlagKind::kFrequency:
      return evaluate_list_expression(word, reading);
    case FlagKind::kWord:
      return any_word(word, reading);
    case FlagKind::kTextOrNone:
      return text_or_none(word);
    default:
      return ReadValue::accept(word);
  }
}

ReadValue word_list(const FlagUse& use) {
  if (use.words.empty()) {
    return reject("missing-value",
                  fmt::format("a list must have a word at least: {}", in_quotes(use.flag)),
                  fmt::format("write {0} WORD..., or {0} '[]' for an empty list", use.flag));
  }
  const std::vector<std::string> words = without_brackets(use.words);
  ReadValue list = ReadValue::accept(Value(words));
  for (const std::string& word : words) {
    if (word.find(',') == std::string::npos) continue;
    list.findings.push_back(
        {"flag.comma-in-list",
         fmt::format("words of {} must stand apart: {} is one word to Megatron-LM", use.flag,
                     in_quotes(word)),
         fmt::format("write {} and then {}", use.flag, in_quotes(joined(split(word, ','), " "))),
         Severity::kNote});
  }
  return list;
}

/// The harness cuts at commas and nowhere else; what is empty stays.
ReadValue comma_list(const FlagUse& use) {
  if (use.words.empty()) return missing_value(use);
  Value list = Value::array();
  for (const std::string& word : without_brackets(use.words)) {
    size_t from = 0;
    for (size_t comma = 0; comma != std::string::npos; from = comma + 1) {
      comma = word.find(',', from);
      list.push_back(word.substr(from, comma - from));
    }
  }
  return ReadValue::accept(std::move(list));
}

ReadValue no_word(const FlagUse& use, bool value) {
  if (use.words.empty()) return ReadValue::accept(value);
  return reject("switch-with-value",
                fmt::format("{} must stand alone: {} follows it", use.flag,
                            in_quotes(joined(use.words, " "))),
                fmt::format("write {} alone, or leave it out", use.flag));
}

}  // namespace

ReadValue value_of(FlagKind kind, const FlagUse& use) {
  const std::string typed = typed_text(use);
  const Reading reading{"flag", typed};
  switch (kind) {
    case FlagKind::kSwitch:
      return no_word(use, true);
    case FlagKind::kOff:
      return no_word(use, false);
    case FlagKind::kWords:
      return word_list(use);
    case FlagKind::kCommaWords:
      return comma_list(use);
    case FlagKind::kGone:
      return reject(
          "gone", fmt::format("a flag must be one that Megatron-LM has: it stops at {}", use.flag),
          "write --recompute-activations, or --recompute-granularity full with "
          "--recompute-method and --recompute-num-layers");
    default:
      return one_word(kind, use, reading);
  }
}

ReadValue value_by_rule(const FlagUse& use, bool is_off) {
  const std::string typed = typed_text(use);
  const Reading reading{"flag", typed};
  if (use.words.empty()) return ReadValue::accept(!is_off);
  if (use.words.size() > 1) return ReadValue::accept(Value(use.words));
  const std::string& word = use.words[0];
  const bool is_list_of_words = word.starts_with('[') && word.find(' ') != std::string::npos &&
                                word.find(',') == std::string::npos;
  if (is_list_of_words) return ReadValue::accept(Value(without_brackets(use.words)));
  return any_word(word, reading);
}

std::vector<std::string> without_brackets(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    if (word.size() < 2 || word.front() != '[' || word.back() != ']') {
      result.push_back(word);
      continue;
    }
    std::string inner = word.substr(1, word.size() - 2);
    for (char& c : inner) {
      if (std::string_view("\"' \t\r\n").find(c) != std::string_view::npos) c = ',';
    }
    std::vector<std::string> pieces = split(inner, ',');
    std::erase(pieces, "");
    result.insert(result.end(), pieces.begin(), pieces.end());
  }
  return result;
}

}  // namespace refrain::config
