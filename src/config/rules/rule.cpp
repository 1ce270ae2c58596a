#include "config/rules/rule.h"

#include <iterator>

namespace refrain::config {

std::string_view to_text(Outcome outcome) {
  constexpr std::array<std::string_view, 12> kNames = {
      "ValueError",     "AssertionError",    "NotImplementedError",
      "TypeError",      "KeyError",          "NameError",
      "AttributeError", "ZeroDivisionError", "fill",
      "rewrite",        "inactive",          "note"};
  return kNames[static_cast<size_t>(outcome)];
}

bool is_among(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != words.npos; at = words.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || words[at - 1] == ' ';
    if (begins && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

Remedy setting(std::string text, std::initializer_list<std::pair<std::string_view, Value>> values) {
  Remedy remedy{std::move(text), {}};
  for (const auto& [knob, value] : values) {
    remedy.set.push_back({std::string(knob), value, {}, false});
  }
  return remedy;
}

Remedy selective_with(std::string text, std::string_view label) {
  return setting(std::move(text), {{"recompute_granularity", "selective"},
                                   {"recompute_method", nullptr},
                                   {"recompute_num_layers", nullptr},
                                   {"recompute_modules", Value::array({label})}});
}

std::vector<Remedy> drop_label(const Knobs& k, std::string_view label) {
  const Value rest = without(k.recompute_modules, label);
  std::vector<Remedy> remedies;
  if (!rest.empty()) {
    remedies.push_back(setting(fmt::format("drop {}", label), {{"recompute_modules", rest}}));
  }
  remedies.push_back(setting("recompute nothing", {{"recompute_granularity", nullptr}}));
  return remedies;
}

Value without(const std::optional<WordList>& list, std::string_view word) {
  Value rest = Value::array();
  if (!list || list->is_text) return rest;
  for (const std::string& held : list->words) {
    if (held != word) rest.push_back(held);
  }
  return rest;
}

std::vector<Remedy> before(std::vector<Remedy> first, std::vector<Remedy> others) {
  std::move(others.begin(), others.end(), std::back_inserter(first));
  return first;
}

}  // namespace refrain::config
