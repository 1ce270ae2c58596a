// Fields that Megatron-Bridge's model providers add to Megatron-Core's configuration classes.
#pragma once

#include <string_view>

namespace refrain::config {

/// True for a field of GPTModelProvider, which every language model has.
bool is_gpt_field(std::string_view name);

/// True for a field of some provider: of a hybrid, multimodal or other model, or of those.
bool is_provider_field(std::string_view name);

}  // namespace refrain::config
