// What each kind of layer could keep: every subset of its activations, measured by lowering it, and
// the subsets that no other one beats.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cost/program/machine_rates.h"
#include "model/graph.h"
#include "program/lower.h"
#include "program/recompute_plan.h"

namespace refrain::plan {

/// Micro-batches whose gradients stand differently: the first writes them, the last frees them.
enum class Phase : uint8_t { kFirst, kMiddle, kLast };
inline constexpr int kNumPhases = 3;
template <class T>
using PerPhase = std::array<T, kNumPhases>;

/// Bytes of a run of blocks under one choice, above what the blocks before it retain and above
/// parameters, optimizer, batch and the gradients that were there when its pass began.
struct Profile {
  Bytes retained;                // between its forward and its backward, its output included
  PerPhase<Bytes> forward_peak;  // the highest moment of its forward
  PerPhase<Bytes> backward_peak;
  double replay_s = 0;  // of one micro-batch
};

/// One way to treat a run of blocks whose last output is kept.
struct Choice {
  std::vector<std::vector<program::Action>> actions;  // [block of the run][tensor]
  std::vector<std::string> recomputed;                // of one layer: tensors, in forward order
  Profile profile;

  int32_t num_blocks() const { return static_cast<int32_t>(actions.size()); }
};

/// What dropping one activation alone frees and costs.
struct Activation {
  std::string name;
  Bytes freed;
  double replay_s = 0;
};

/// Choices of runs that begin with a block of one graph, none dominated by another of its length.
struct Frontier {
  std::vector<Choice> choices;
  std::vector<Activation> activations;  // in forward order
  int64_t examined = 0;
};

/// What frontiers and bounds are made from.
struct FrontierRequest {
  const model::ModelGraph& graph;
  program::Schedule schedule;
  const cost::MachineRates& rates;
  int32_t longest_run = 1;  // layers that may share one kept input, all of their inside dropped
};

/// The frontier of every graph of the model, by its index. Blocks that are no layers have one
/// choice: they keep what backward reads.
std::vector<Frontier> frontiers(const FrontierRequest& request);

/// Bytes that no choice changes (parameters, tables, optimizer, batch, gradients so far) when each
/// block's forward and backward begin, and the highest of the steps that belong to no block.
struct FixedBytes {
  std::vector<PerPhase<Bytes>> forward, backward;  // [block]
  Bytes outside;                                   // clipping and the updates after it
};
FixedBytes fixed_bytes(const FrontierRequest& request);

}  // namespace refrain::plan
