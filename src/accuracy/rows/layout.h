// Which layers stand on which pipeline rank, and whether the sizes of a run fit together.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "mcore/run.h"

namespace refrain::accuracy {

/// Layers of each chunk, [virtual stage][rank].
using Layout = std::vector<std::vector<int64_t>>;

/// From the layers of each stage, in the order in which a micro-batch visits them; nothing where
/// the ranks have not equally many stages.
std::optional<Layout> layout_of(const std::vector<int64_t>& stages, int64_t ranks);

/// From `Et*3|(tt|)*14tmL`; nothing where that cannot be read or does not hold the layers.
std::optional<Layout> layout_of_text(std::string_view text, int64_t num_layers, int64_t ranks);

/// `accuracy.sizes`, one a contradiction: heads, groups and experts divide among their ranks, each
/// layer has a stage, sizes are such that bytes fit 64 bits, and tensors a host's memory.
Findings check_sizes(const mcore::Run& run, int64_t row_number);

}  // namespace refrain::accuracy
