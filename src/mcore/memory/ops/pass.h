// What the ops of one forward share.
#pragma once

#include <vector>

#include "mcore/memory/tape/caches.h"
#include "mcore/memory/tape/graph.h"
#include "mcore/memory/tape/sizes.h"
#include "mcore/run.h"

namespace refrain::mcore::memory {

/// A micro-batch whose gradient of the output layer's weight is put off. The layer's input is held
/// with its graph, and so is what the graph accumulates gradients for: the chunk's input.
struct DeferredGradient {
  Storage gradient, input;
  Tensor chunk_input;
};

/// Copied where a piece of the forward runs into another graph. Nodes keep copies of their own.
struct Pass {
  const Run& run;
  Memory& memory;
  Caches& caches;
  Graph* graph;
  Sizes sizes;
  const Tensor* chunk_input = nullptr;                // of the forward this belongs to
  std::vector<DeferredGradient>* deferred = nullptr;  // what the head puts off to the step's end
  const Recompute* of_layer = nullptr;                // where a layer's recompute is not the run's
  bool offloads = true;    // false: what this layer saves is needed again at once
  double expert_load = 1;  // rows that this rank's experts get, as a multiple of an even share

  const Recompute& recompute() const { return of_layer != nullptr ? *of_layer : run.recompute; }
  bool sequence_split() const { return splits_sequence(run); }
  int64_t tensor() const { return run.parallel.tensor; }
};

/// True where recompute is selective and `label` is on the list. Whether the label then does
/// anything is for the op to say: it must find the module it names.
inline bool recomputes(const Pass& pass, const char* label) {
  const Recompute& recompute = pass.recompute();
  return recompute.method == Recompute::Method::kSelective && recompute.labels.contains(label);
}

}  // namespace refrain::mcore::memory
