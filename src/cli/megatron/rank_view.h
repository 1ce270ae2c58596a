// What plan and ledger show alike of a Megatron run and its pipeline ranks.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/megatron/megatron_options.h"
#include "plan/megatron/prediction.h"

namespace refrain::cli {

/// "79.64": binary, two decimals.
std::string gib(Bytes bytes);

/// Model, devices, parallel sizes, batch and budget: two lines.
std::string headline(const MegatronRunOptions& options);

/// Decoder layers of a pipeline rank.
int64_t layers_of_rank(const mcore::Run& run, int64_t rank);

/// One rank: peak_bytes, peak_upper_bytes, reserved_bytes, at_rest_bytes, phase, verdict,
/// fails_by_fragmentation, expandable_segments_fit, accounts {name: {bytes, parts}}.
nlohmann::ordered_json rank_json(const plan::RankBytes& rank);

}  // namespace refrain::cli
