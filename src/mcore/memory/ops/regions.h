// Megatron's two kinds of recompute region (core/tensor_parallel/random.py).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// A piece of the forward that can run again. It refers to its inputs, which is what keeps them.
using Region = std::function<Tensor(Pass&)>;
using ManyOutputs = std::function<std::vector<Tensor>(Pass&)>;

/// Runs `region` without gradients and keeps nothing but its inputs and its output; backward runs
/// it again, then through it.
Tensor checkpoint(Pass& pass, Region region);

/// Runs `region` where `active`, as a checkpoint, else plainly.
Tensor checkpoint_if(bool active, Pass& pass, Region region);

/// A checkpoint whose outputs lose their memory once their readers have run, and get it back before
/// backward reaches those readers (CheckpointWithoutOutput).
class OutputDiscarding {
 public:
  /// Runs `region`, at once; where not `active`, plainly, and then nothing is discarded. `inputs`
  /// are what the region refers to.
  OutputDiscarding(bool active, Pass& pass, std::vector<Storage> inputs, const ManyOutputs& region);

  const std::vector<Tensor>& outputs() const { return outputs_; }

  /// Call when all readers have run and the last tensor made of them is there: backward restores
  /// the outputs when it has that tensor's gradient.
  void discard(Pass& pass);

 private:
  struct Replay;
  std::shared_ptr<Replay> replay_;
  std::vector<Tensor> outputs_;
};

}  // namespace refrain::mcore::memory
