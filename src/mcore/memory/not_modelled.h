// Which runs the bytes of a rank are not modelled for, and why.
#pragma once

#include <optional>
#include <string>

#include "mcore/run.h"

namespace refrain::mcore::memory {

/// Why `rank_stream` would not describe this run, in the user's words; nothing where it does. A run
/// whose sizes contradict each other is among them: `rank_stream` must not be called for it.
std::optional<std::string> not_modelled(const Run& run);

}  // namespace refrain::mcore::memory
