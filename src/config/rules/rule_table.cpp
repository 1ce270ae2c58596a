#include <array>

#include "config/rules/rule.h"

namespace refrain::config {

std::string_view to_text(Outcome outcome) {
  constexpr std::array<std::string_view, 11> kNames = {"ValueError",
                                                       "AssertionError",
                                                       "NotImplementedError",
                                                       "TypeError",
                                                       "KeyError",
                                                       "NameError",
                                                       "ZeroDivisionError",
                                                       "fill",
                                                       "rewrite",
                                                       "inactive",
                                                       "note"};
  return kNames[static_cast<size_t>(outcome)];
}

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> rules;
  for (const auto part : {parallel_rules(), precision_rules(), moe_rules(), recompute_rules(),
                          label_rules(), offload_rules(), layout_rules(), model_rules(),
                          graph_form_rules(), graph_rules(), overlap_rules()}) {
    for (const Rule& rule : part) rules.push_back(&rule);
  }
  return rules;
}

Remedy setting(std::string text, std::initializer_list<std::pair<std::string_view, Value>> values) {
  Remedy remedy{std::move(text), {}};
  for (const auto& [knob, value] : values) {
    remedy.set.push_back({std::string(knob), value, {}, false});
  }
  return remedy;
}

Value without(const std::optional<WordList>& list, std::string_view word) {
  std::vector<std::string> rest;
  if (list && !list->is_text) {
    for (const std::string& held : list->words) {
      if (held != word) rest.push_back(held);
    }
  }
  return rest;
}

}  // namespace refrain::config
