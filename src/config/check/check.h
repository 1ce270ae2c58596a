// A whole check: from what was written to a verdict, every finding with ways out that were tried,
// the effective configuration and what it comes to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/check/judge.h"
#include "config/check/resolve.h"
#include "config/knobs/configuration.h"

namespace refrain::config {

/// A knob as a finding shows it.
struct ShownKnob {
  std::string_view name;
  Value value;
  Source source;
};

struct CheckFinding {
  std::string id;
  std::string severity;  // "error", "rewrite", "inactive", "note"
  std::string message;
  std::string because;
  std::string remedy;                   // in words
  std::string error_type;               // of an error: what Megatron raises; empty: not known
  std::vector<ShownKnob> knobs;         // that the rule read
  std::vector<CheckedRemedy> remedies;  // with values, each checked
};

struct CheckReport {
  Dialect dialect = Dialect::kRefrain;
  bool accepted = false;
  std::vector<CheckFinding> findings;
  std::optional<Configuration> given;  // nothing where the assignments could not be read as knobs
  Knobs effective;                     // of an accepted configuration
  std::optional<Resolved> resolved;    // of an accepted configuration whose model is told
};

/// Checks assignments against a dialect. `findings` are those of reading them.
CheckReport check(const Assignments& assignments, const Findings& findings, Dialect dialect);

}  // namespace refrain::config
