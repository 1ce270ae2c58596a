// A run's facts as JSON, for cases kept as data: the members of mcore::Run by name, with the
// defaults of mcore::Run where one is absent.
#pragma once

#include <nlohmann/json.hpp>

#include "mcore/run.h"

namespace refrain::cases {

/// Throws on a member that mcore::Run does not have, so that a misspelt fact is not a default.
mcore::Run run_of(const nlohmann::json& facts);

}  // namespace refrain::cases
