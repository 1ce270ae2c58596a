// One row a rule: what must hold of a configuration, in which dialects, why, and what to do where
// it does not. The rows feed `refrain check`, `refrain rules`, `refrain explain` and docs/rules.md.
#pragma once

#include <fmt/format.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/knobs/assignment.h"
#include "config/knobs/dialect.h"
#include "config/knobs/knobs.h"

namespace refrain::config {

/// What a broken rule means: the exception that Megatron raises, or that the run goes on.
enum class Outcome {
  kValueError,
  kAssertionError,
  kNotImplementedError,
  kTypeError,
  kKeyError,
  kNameError,
  kZeroDivisionError,
  kFill,      // accepted: a default is filled in, which nobody needs to be told
  kRewrite,   // accepted, but something is changed
  kInactive,  // accepted, but something does nothing
  kNote,      // accepted: known to be useless, costly or deprecated
};
std::string_view to_text(Outcome outcome);
inline bool is_error(Outcome outcome) { return outcome < Outcome::kFill; }

/// TransformerEngine's version, as its releases compare: major, minor, patch. A missing one counts
/// as 0.0.0; one that is not told, as the newest.
using TeVersion = std::array<int64_t, 3>;

/// Who judges, with what.
struct Context {
  Dialect dialect = Dialect::kRefrain;
  TeVersion te = {};
};

/// What is wrong, in the user's values; nothing where the rule is obeyed.
using Complaint = std::optional<std::string>;

/// Values that would mend it.
struct Remedy {
  std::string text;
  Assignments set;
};

struct Rule {
  std::string_view id;  // stable: users, tests and docs name a rule by it
  DialectSet dialects;
  Outcome outcome;
  std::string_view because;
  std::string_view remedy;  // in words
  std::string_view knobs;   // that it reads, by blanks
  Complaint (*broken)(const Knobs&, const Context&);
  /// Rewrites: what becomes of the knobs where `broken` complains.
  void (*rewrite)(Knobs&, const Context&) = nullptr;
  /// Remedies with values, best first; those that the dialect would reject are not told. Where
  /// there are none, defaults of `knobs` are tried.
  std::vector<Remedy> (*remedies)(const Knobs&, const Context&) = nullptr;
};

/// Every rule, in the order in which Megatron-Core checks them: the first error is the one it
/// raises, and rewrites are seen by the rules that follow.
std::vector<const Rule*> all_rules();

// The parts of the table, in that order.
std::span<const Rule> parallel_rules();
std::span<const Rule> precision_rules();
std::span<const Rule> moe_rules();
std::span<const Rule> recompute_rules();
std::span<const Rule> label_rules();
std::span<const Rule> offload_rules();
std::span<const Rule> layout_rules();
std::span<const Rule> model_rules();
std::span<const Rule> graph_form_rules();
std::span<const Rule> graph_rules();
std::span<const Rule> overlap_rules();

// What many rules ask.
inline bool selective(const Knobs& k) { return k.recompute_granularity == "selective"; }
inline bool full(const Knobs& k) { return k.recompute_granularity == "full"; }
inline bool has(const std::optional<WordList>& list, std::string_view word) {
  return list && list->has(word);
}
/// Selective, with the label. Null labels mean [core_attn].
inline bool recomputes(const Knobs& k, std::string_view label) {
  return selective(k) && (k.recompute_modules ? k.recompute_modules->has(label)
                                              : label == std::string_view("core_attn"));
}
inline bool quantised(const std::optional<std::string>& format) {
  return format && !format->empty();
}
/// One value to set, for a remedy.
Remedy setting(std::string text, std::initializer_list<std::pair<std::string_view, Value>> values);
/// The list without a word, for a remedy.
Value without(const std::optional<WordList>& list, std::string_view word);

}  // namespace refrain::config
