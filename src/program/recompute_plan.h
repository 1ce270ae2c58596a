// What is kept and what is done again: an action for every activation, or Megatron's regions.
#pragma once

#include <cstdint>
#include <vector>

#include "config/recompute_setting.h"
#include "model/graph.h"

namespace refrain::program {

enum class Action : uint8_t { kSave, kRecompute };

/// [block][TensorId]. The action of a block's input stands with the block before it, as that
/// block's output. Tensors that no backward and no replay reads are freed after forward whatever
/// their action says.
using ActionTable = std::vector<std::vector<Action>>;
ActionTable save_all(const model::ModelGraph& graph);

/// A position in the whole model's forward order.
struct OpRef {
  int32_t block = 0;
  int32_t op = 0;
  auto operator<=>(const OpRef&) const = default;
};

/// Ops first..last (inclusive) that Megatron runs again as a whole.
struct Region {
  OpRef first, last;
  /// Plain checkpoint: replayed before the backward of `last`. Output-discarding: the output is
  /// restored before the backward of this op, which reads it or produces what reads it.
  OpRef replay_before;
};

using config::ReplayPolicy;

/// `demand` reads the actions, `region` the regions: two lowerings of one setting.
struct RecomputePlan {
  ReplayPolicy policy = ReplayPolicy::kDemand;
  ActionTable actions;
  std::vector<Region> regions;  // in forward order, disjoint
};

}  // namespace refrain::program
