// Which decoder layers stand on which pipeline rank and virtual chunk.
#pragma once

#include <cstdint>
#include <vector>

#include "base/finding.h"
#include "config/knobs/knobs.h"

namespace refrain::config {

/// One model chunk of one pipeline rank: `layers` decoder layers from `first_layer` (0-based) on.
struct Chunk {
  int64_t rank = 0;
  int64_t chunk = 0;  // virtual stage within the rank
  int64_t first_layer = 0;
  int64_t layers = 0;

  bool operator==(const Chunk&) const = default;
};

/// The chunks in the order in which a micro-batch visits them: even, uneven at the ends, with
/// embedding or loss counted as layers, or an explicit pipeline_model_parallel_layout. Findings:
/// `layout.unreadable` for a layout that cannot be read or has another number of layers or stages,
/// `layout.not-told` where there is no model. Source: Megatron-Core's get_transformer_layer_offset
/// and PipelineParallelLayerLayout.
Checked<std::vector<Chunk>> chunks_of(const Knobs& knobs);

}  // namespace refrain::config
