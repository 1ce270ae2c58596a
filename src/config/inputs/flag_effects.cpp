#include "config/inputs/flag_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/inputs/literal.h"
#include "config/inputs/overrides.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

bool holds(When when, const Value& own) {
  const double number = own.is_number() ? own.get<double>() : 0;
  const bool is_none = own.is_null() || own == "none";
  switch (when) {
    case When::kAlways:
      return true;
    case When::kPositive:
      return number > 0;
    case When::kAboveOne:
      return number > 1;
    case When::kAtMostOne:
      return number <= 1;
    case When::kOne:
      return number == 1;
    case When::kNotMinusOne:
      return number != -1;
    case When::kTrue:
      return own == true;
    case When::kFalse:
      return own == false;
    case When::kNone:
      return is_none;
    case When::kNotNone:
      return !is_none;
  }
  return false;
}

constexpr size_t kMostBytes = 64 * 1024;  // of a word, before it is cut into pieces

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
         fmt::format("write {} {}", use.flag, joined(split(word, ','), " ")), Severity::kNote});
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

ReadValue own_value(FlagKind kind, const FlagUse& use, const Reading& reading) {
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

Finding unknown(const std::string& flag) {
  const auto near = nearest_flag(flag);
  return {"flag.unknown",
          fmt::format("a flag must be --words-with-dashes, or short as the harness has it: {}",
                      in_quotes(flag)),
          near ? fmt::format("did you mean {}?", *near) : "leave it out"};
}

bool is_long(const FlagUse& use) {
  return use.flag.size() > kMostBytes ||
         std::any_of(use.words.begin(), use.words.end(),
                     [](const std::string& word) { return word.size() > kMostBytes; });
}

Finding too_long(const FlagUse& use) {
  return {"flag.too-long",
          fmt::format("a word must fit into 64 KiB: {} has a longer one", in_quotes(use.flag)),
          "leave it out"};
}

/// The value of a flag that no row has.
ReadValue value_by_rule(const FlagUse& use, bool is_off, const Reading& reading) {
  if (use.words.empty()) return ReadValue::accept(!is_off);
  if (use.words.size() > 1) return ReadValue::accept(Value(use.words));
  const std::string& word = use.words[0];
  const bool is_list_of_words = word.starts_with('[') && word.find(' ') != std::string::npos &&
                                word.find(',') == std::string::npos;
  if (is_list_of_words) return ReadValue::accept(Value(without_brackets(use.words)));
  return any_word(word, reading);
}

}  // namespace

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

void FlagEffects::add(const FlagUse& use) {
  const size_t before = findings_.size();
  if (is_long(use)) {
    findings_.push_back(too_long(use));
  } else if (const FlagRow* row = find_flag(use.flag)) {
    add_by_row(*row, use);
  } else if (use.flag.starts_with("--") && is_knob_path(std::string_view(use.flag).substr(2))) {
    add_by_rule(use);
  } else {
    findings_.push_back(unknown(use.flag));
  }
  if (use.source.origin != Origin::kFile) return;
  for (size_t i = before; i < findings_.size(); ++i) {
    findings_[i].message = fmt::format("{}: {}", use.source.place, findings_[i].message);
  }
}

void FlagEffects::add(Checked<Assignments> others) {
  findings_.insert(findings_.end(), others.findings.begin(), others.findings.end());
  if (!others.value) return;
  for (Assignment& assignment : *others.value)
    entries_.push_back({std::move(assignment), 0, false});
}

void FlagEffects::add(Finding finding) { findings_.push_back(std::move(finding)); }

void FlagEffects::add_by_row(const FlagRow& row, const FlagUse& use) {
  if (row.kind == FlagKind::kNotAKnob || row.kind == FlagKind::kNotAKnobSwitch) {
    launcher_flags_.push_back(use.flag);
    return;
  }
  const std::string typed = typed_text(use);
  ReadValue own = own_value(row.kind, use, {"flag", typed});
  if (!took(own)) return;
  for (const FlagEffect& effect : row.effects) {
    const bool is_then = effect.since <= revision_ && revision_ <= effect.until;
    if (is_then && holds(effect.when, *own.value)) add_entry(effect, *own.value, use, row.rank);
  }
}

/// --a-b-c VALUE... is a_b_c; --no-a-b and --disable-a-b alone are a_b=false.
void FlagEffects::add_by_rule(const FlagUse& use) {
  std::string name = use.flag.substr(2);
  bool is_off = false;
  for (const std::string_view prefix : {"no-", "disable-"}) {
    if (is_off || !use.words.empty() || !name.starts_with(prefix)) continue;
    is_off = name.size() > prefix.size();
    if (is_off) name.erase(0, prefix.size());
  }
  std::replace(name.begin(), name.end(), '-', '_');
  const std::string typed = typed_text(use);
  ReadValue value = value_by_rule(use, is_off, {"flag", typed});
  if (took(value)) add_entry({knob_name(name)}, *value.value, use, 0);
}

void FlagEffects::add_entry(const FlagEffect& effect, const Value& own, const FlagUse& use,
                            int rank) {
  Assignment assignment{std::string(effect.knob), own, use.source};
  if (effect.value == kRemoved) {
    assignment.removes = true;
    assignment.value = nullptr;
  } else if (effect.value != kOwnValue) {
    assignment.value = read_scalar(effect.value, {"flag", effect.value}).value.value_or(Value());
  }
  entries_.push_back({std::move(assignment), rank, true});
}

/// Keeps the findings; true where there is a value.
bool FlagEffects::took(Checked<Value>& value) {
  findings_.insert(findings_.end(), value.findings.begin(), value.findings.end());
  return value.value.has_value();
}

/// Flags that set one knob stand in the order of their ranks, and what is no flag stays where it
/// is.
void FlagEffects::order_by_rank() {
  std::map<std::string, std::vector<size_t>> places;  // of each knob's flags
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].is_flag) places[entries_[i].assignment.knob].push_back(i);
  }
  for (const auto& [knob, indices] : places) {
    std::vector<Entry> ordered;
    for (const size_t i : indices) ordered.push_back(entries_[i]);
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const Entry& a, const Entry& b) { return a.rank < b.rank; });
    for (size_t i = 0; i < indices.size(); ++i) entries_[indices[i]] = std::move(ordered[i]);
  }
}

Checked<Assignments> FlagEffects::finish() {
  if (!launcher_flags_.empty()) {
    add(Finding{"flag.not-a-knob",
                fmt::format("a flag must set a knob to be judged: {} say what runs where",
                            joined(launcher_flags_)),
                "what they choose has to be given as knobs, or as a recipe", Severity::kNote});
  }
  if (rejects(findings_)) return Checked<Assignments>::reject(std::move(findings_));
  order_by_rank();
  Assignments assignments;
  for (Entry& entry : entries_) assignments.push_back(std::move(entry.assignment));
  return Checked<Assignments>::accept(std::move(assignments), std::move(findings_));
}

}  // namespace refrain::config
