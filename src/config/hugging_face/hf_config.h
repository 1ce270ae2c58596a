// Reads a Hugging Face config.json as a ModelConfig, to be trained.
#pragma once

#include <string>
#include <string_view>

#include "base/finding.h"
#include "config/model_config.h"

namespace refrain::config {

/// The model that the text of a config.json of type llama, mistral, qwen2, qwen3 or gpt2
/// describes. Absent fields have the defaults of the transformers library's class of that type. A
/// field that would change the numbers and that Refrain does not model is a finding; one it has
/// never heard of is a note.
Checked<ModelConfig> parse_hf_config(std::string_view text, const std::string& name);

}  // namespace refrain::config
