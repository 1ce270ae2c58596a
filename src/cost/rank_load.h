// Which pipeline rank carries how much of a micro-batch.
#pragma once

#include <vector>

#include "cost/step_time.h"

namespace refrain::cost {

/// The work of the ranks that may take longest where no layout is given: in shares of the mean
/// layer, as Megatron-Core splits evenly: 1/p; where embedding and loss count as layers (because
/// the run says so, or because only then the layers can be split), a rank has (L + 2) / (p L) and
/// the last one layer less; where nothing divides, 2 % more than the mean.
std::vector<LayerTime> even_rank_loads(const mcore::Run& run, const std::vector<KindTime>& kinds,
                                       const LayerTime& head);

/// The work of every rank, in order, where each decoder layer of the model is given its own time.
std::vector<LayerTime> rank_loads_of_layers(const mcore::Run& run,
                                            const std::vector<LayerTime>& layers,
                                            const std::vector<KindTime>& kinds,
                                            const LayerTime& head);

}  // namespace refrain::cost
