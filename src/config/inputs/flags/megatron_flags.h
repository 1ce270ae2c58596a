// The flags of Megatron-LM that choose data, optimizer, files and logs, and no knob.
#pragma once

#include <string_view>

namespace refrain::config {

/// True for "--lr-decay-style" and "--no-load-optim": a flag that Megatron-LM has and whose words
/// its model configuration never sees. Meant for flags that name no knob.
bool is_megatron_flag(std::string_view flag);

}  // namespace refrain::config
