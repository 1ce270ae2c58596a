// Published model sizes as assignments to Megatron's knobs, from data/recipes/model_arch.csv.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

struct Architecture {
  std::string name;                       // "DeepSeek V3"
  std::vector<std::string> hf_ids;        // "deepseek-ai/DeepSeek-V3"
  std::vector<std::string> recipe_names;  // "deepseek_v3"
  Assignments assignments;                // only what the table states
  std::vector<std::string> notes;         // the rest of the row, "column=value" or a sentence
  std::string source;                     // repository, path and revision
};

/// In the table's order; parsed once.
const std::vector<Architecture>& architectures();

/// By name, Hugging Face id or recipe name, whatever the case, blanks, dashes and underscores; null
/// where there is none.
const Architecture* architecture_named(std::string_view name);

/// The same; where there is none, a finding `architecture.unknown` names the nearest.
Checked<Architecture> find_architecture(std::string_view name);

}  // namespace refrain::config
