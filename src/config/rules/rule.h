// One row a rule: what must hold of a configuration, in which dialects, why, and what to do where
// it does not. The rows feed `refrain check`, `refrain rules`, `refrain explain` and docs/rules.md.
#pragma once

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
  kAttributeError,
  kZeroDivisionError,
  kFill,      // accepted: a default is filled in, which nobody needs to be told
  kRewrite,   // accepted, but something is changed
  kInactive,  // accepted, but something does nothing
  kNote,      // accepted: useless, costly or deprecated, or needs what a check cannot see
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
  std::string_view remedy;       // in words
  std::string_view knobs;        // that it reads, by blanks
  std::string_view labels = {};  // of recompute_modules and offload_modules that it is about
  Complaint (*broken)(const Knobs&, const Context&) = nullptr;
  /// Rewrites: what becomes of the knobs where `broken` complains.
  void (*rewrite)(Knobs&, const Context&) = nullptr;
  /// Remedies with values, best first; those that the dialect would reject are not told. Where
  /// there are none, defaults of `knobs` are tried.
  std::vector<Remedy> (*remedies)(const Knobs&, const Context&) = nullptr;
};

/// Whether a word stands among words with blanks between them, as in `Rule::knobs`.
bool is_among(std::string_view words, std::string_view word);

// What many rules ask.
inline bool selective(const Knobs& k) { return k.recompute_granularity == "selective"; }
inline bool full(const Knobs& k) { return k.recompute_granularity == "full"; }
inline bool has(const std::optional<WordList>& list, std::string_view word) {
  return list && list->has(word);
}
/// No words, or the empty text in their place.
inline bool names_nothing(const WordList& list) {
  return list.empty() || (list.is_text && list.words[0].empty());
}
/// Selective, with the label. Null labels mean [core_attn].
inline bool recomputes(const Knobs& k, std::string_view label) {
  return selective(k) && (k.recompute_modules ? k.recompute_modules->has(label)
                                              : label == std::string_view("core_attn"));
}
inline bool offloads(const Knobs& k, std::string_view label) {
  return k.fine_grained_activation_offloading && has(k.offload_modules, label);
}
/// Told, and not the empty text: what Python takes for true.
inline bool is_told(const std::optional<std::string>& text) { return text && !text->empty(); }
/// Each weight is kept in more shards than there are tensor-parallel ranks, and gathered when
/// needed.
inline bool shards_weights(const Knobs& k) {
  return k.tensor_parallel_num_weight_shards.value_or(0) > k.tensor_model_parallel_size;
}
inline bool shards_expert_weights(const Knobs& k) {
  return k.expert_tensor_parallel_num_weight_shards.value_or(0) >
         k.expert_tensor_parallel_size.value_or(k.tensor_model_parallel_size);
}
/// TransformerEngine's version as the user told it, for a message.
inline std::string te_text(const Knobs& k) { return k.te_version.value_or("not installed"); }

// Remedies.
Remedy setting(std::string text, std::initializer_list<std::pair<std::string_view, Value>> values);

/// Named modules recomputed in place of whole layers.
Remedy selective_with(std::string text, std::string_view label);

/// recompute_modules without a label, or nothing recomputed.
std::vector<Remedy> drop_label(const Knobs& k, std::string_view label);

/// The list without a word, as a value.
Value without(const std::optional<WordList>& list, std::string_view word);

/// Those of `first`, then those of `others`.
std::vector<Remedy> before(std::vector<Remedy> first, std::vector<Remedy> others);

}  // namespace refrain::config
