#include "config/knobs/dialect.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr std::array<std::string_view, 10> kNames = {
    "mcore-0.12.3", "mcore-0.13.1", "mcore-0.14.0", "mcore-0.15.3", "mcore-0.16.1",
    "mcore-0.17.1", "mcore-0.18.2", "mcore-0.19.2", "bridge",       "refrain"};

}  // namespace

const std::vector<Dialect>& all_dialects() {
  static const std::vector<Dialect> all = [] {
    std::vector<Dialect> dialects;
    for (size_t d = 0; d < kNames.size(); ++d) dialects.push_back(static_cast<Dialect>(d));
    return dialects;
  }();
  return all;
}

std::string_view to_text(Dialect dialect) { return kNames[static_cast<size_t>(dialect)]; }

Checked<Dialect> parse_dialect(std::string_view text) {
  for (const Dialect dialect : all_dialects()) {
    if (text == to_text(dialect)) return Checked<Dialect>::accept(dialect);
  }
  const std::vector<std::string> names(kNames.begin(), kNames.end());
  const auto near = nearest(text, names);
  return Checked<Dialect>::reject(
      {{"check.unknown-dialect",
        fmt::format("the dialect must be one of {}: {}", joined(names), in_quotes(text)),
        near ? fmt::format("did you mean {}?", *near) : "leave it out for refrain"}});
}

std::string to_text(DialectSet dialects) {
  if (dialects == kEverywhere) return "all dialects";
  std::vector<std::string> pieces;
  const auto& all = all_dialects();
  for (size_t i = 0; i < all.size(); ++i) {
    if (!dialects.has(all[i])) continue;
    size_t last = i;
    while (last + 1 < all.size() && is_mcore(all[last + 1]) && dialects.has(all[last + 1])) ++last;
    pieces.push_back(last == i ? std::string(to_text(all[i]))
                               : fmt::format("{} to {}", to_text(all[i]), to_text(all[last])));
    i = last;
  }
  return joined(pieces);
}

}  // namespace refrain::config
