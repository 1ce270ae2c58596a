// Where parameters lie in the contiguous buffers of distributed data parallel, and which parts of
// them a rank's optimizer owns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mcore/memory/state/parameters.h"
#include "mcore/run.h"

namespace refrain::mcore::memory {

struct BufferLayout {
  int64_t elements = 0;         // with padding
  std::vector<int64_t> shards;  // of the last data-parallel rank: elements, a parameter at a time
};

struct LayoutRules {
  int64_t shards = 1;  // data-parallel ranks that share the optimizer's state
  bool pad_buckets = false;
  std::optional<int64_t> bucket_elements;  // a bucket ends once it has as many; nothing: one bucket
};

/// Lays parameters out in reverse order: each starts at a multiple of 64 elements; a bucket ends at
/// a multiple that all shards divide; an embedding that two stages share has a bucket of its own
/// (core/optimizer/distrib_optimizer.py, _compute_per_buffer_param_layout; param_layout.py).
BufferLayout lay_out(const std::vector<Parameter>& parameters, const LayoutRules& rules);

/// The rules for one buffer of a chunk.
LayoutRules layout_rules(const Run& run, bool expert, bool first_chunk);

/// Data-parallel ranks that share the state of dense or of expert parameters.
int64_t optimizer_shards(const Run& run, bool expert);

}  // namespace refrain::mcore::memory
