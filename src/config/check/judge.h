// Holds a configuration against every rule of a dialect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/knobs/knobs.h"
#include "config/rules/rule.h"

namespace refrain::config {

/// A rule that had something to say, and what.
struct Ruling {
  const Rule* rule;
  std::string message;
};

struct Judgement {
  bool accepted = true;
  std::vector<Ruling> rulings;    // every one, in the order of the rules
  std::optional<Outcome> raised;  // the error that Megatron-Core would raise first
  Knobs effective;                // after all rewrites; means nothing where it was rejected
};

/// Who judges these knobs: the dialect, with the TransformerEngine that they name.
Context context_of(const Knobs& knobs, Dialect dialect);

/// Judges knobs as the dialect would. All findings are told, not only the first error.
Judgement judge(const Knobs& knobs, Dialect dialect);

/// A remedy that was tried: with its values the dialect accepts the configuration.
struct CheckedRemedy {
  std::string text;
  Assignments set;
};

/// Ways out of an error, each checked: the rule's own remedies, else defaults of what it reads,
/// each with what further errors need in their turn. Empty where none leads to an accepted
/// configuration.
std::vector<CheckedRemedy> remedies_of(const Rule& rule, const Knobs& knobs, Dialect dialect);

}  // namespace refrain::config
