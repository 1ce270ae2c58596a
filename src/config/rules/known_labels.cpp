#include "config/rules/known_labels.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/error.h"
#include "base/finding.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

/// What Megatron-Core's main has is judged by Refrain alone: Bridge pins a commit before it.
DialectSet dialects_from(std::string_view first) {
  if (first == kMegatronMain || first == kRefrainAlone) return DialectSet(Dialect::kRefrain);
  const auto release = parse_dialect(fmt::format("mcore-{}", first));
  RC_CHECK(release.value, "a label must be known since a release with a dialect: {}", first);
  return since(*release.value);
}

using LabelDialects = std::unordered_map<const ModuleLabel*, DialectSet>;

const LabelDialects& dialects_by_label() {
  static const LabelDialects map = [] {
    LabelDialects made;
    for (const ModuleLabel& label : label_table()) made.emplace(&label, dialects_from(label.since));
    return made;
  }();
  return map;
}

/// Who knows the word, or which word is near.
std::string hint(const std::string& word, LabelList list, Dialect dialect) {
  if (const ModuleLabel* label = find_label(list, word)) {
    return fmt::format(" (known to {})", to_text(dialects_of(*label)));
  }
  const auto near = nearest(word, known_labels(list, dialect));
  return near ? fmt::format(" (did you mean {}?)", *near) : "";
}

}  // namespace

DialectSet dialects_of(const ModuleLabel& label) { return dialects_by_label().at(&label); }

bool knows(Dialect dialect, LabelList list, std::string_view word) {
  const ModuleLabel* label = find_label(list, word);
  return label != nullptr && dialects_of(*label).has(dialect);
}

std::vector<std::string> known_labels(LabelList list, Dialect dialect) {
  std::vector<std::string> names;
  for (const ModuleLabel& label : label_table()) {
    if (label.list == list && dialects_of(label).has(dialect)) names.emplace_back(label.name);
  }
  return names;
}

Complaint wrong_labels(const WordList& words, LabelList list, Dialect dialect) {
  if (words.is_text) {
    if (words.words[0].empty()) return {};  // to Python a list without words
    return fmt::format("{} must be a list: the text {}", to_text(list), in_quotes(words.words[0]));
  }
  std::vector<std::string> unknown;
  for (const std::string& word : words.words) {
    if (!knows(dialect, list, word)) unknown.push_back(in_quotes(word) + hint(word, list, dialect));
  }
  if (unknown.empty()) return {};
  return fmt::format("{} must be some of {}: {}", to_text(list),
                     joined(known_labels(list, dialect)), joined(unknown));
}

Remedy drop_wrong_labels(const WordList& words, LabelList list, Dialect dialect) {
  std::vector<std::string> known;
  for (const std::string& word : words.words) {
    if (knows(dialect, list, word)) known.push_back(word);
  }
  return setting("drop the unknown labels", {{to_text(list), known}});
}

}  // namespace refrain::config
