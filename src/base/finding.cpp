#include "base/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace refrain {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, change});
    }
  }
  return row.back();
}

}  // namespace

bool rejects(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.severity == Severity::kError; });
}

std::string to_text(const Findings& findings) {
  std::string text;
  for (const Finding& f : findings) {
    text += fmt::format("{}[{}]: {}\n", f.severity == Severity::kError ? "error" : "note", f.rule,
                        f.message);
    if (!f.remedy.empty()) text += fmt::format("  remedy: {}\n", f.remedy);
  }
  return text;
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  constexpr size_t kLongestName = 100;
  if (word.size() > kLongestName) return std::nullopt;
  std::optional<std::string> best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace refrain
