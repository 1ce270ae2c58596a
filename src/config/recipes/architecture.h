// Published model sizes as assignments to Megatron's knobs, from data/recipes/model_arch.csv.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// What Megatron's configuration classes have no field for, as the row has it; empty: not stated.
struct BesideKnobs {
  std::optional<int64_t> vocab_size, vocab_divisible_by;
  std::optional<bool> tied_embeddings;
  std::string position_embedding;  // "rope", "yarn", "none", "learned_absolute"
  std::string attention_kind;      // "GQA", "MLA + dynamic sparse attention (...)"
  std::string hybrid_pattern;      // "MEMEM*EMEMEM*E/*E/*E"
};

struct Architecture {
  std::string name;                       // "DeepSeek V3"
  std::vector<std::string> hf_ids;        // "deepseek-ai/DeepSeek-V3"
  std::vector<std::string> recipe_names;  // "deepseek_v3"
  Assignments assignments;                // only what the table states
  BesideKnobs beside_knobs;
  std::vector<std::string> notes;  // the rest of the row, "column=value" or a sentence
  std::string source;              // repository, path and revision
};

/// In the table's order; parsed once.
const std::vector<Architecture>& architectures();

/// By name, Hugging Face id or recipe name, whatever the case, blanks, dashes and underscores; null
/// where there is none.
const Architecture* architecture_named(std::string_view name);

/// The same; where there is none, a finding `architecture.unknown` names the nearest.
Checked<Architecture> find_architecture(std::string_view name);

}  // namespace refrain::config
