// The chunks of one pipeline rank: a forward and a backward of each, for a schedule to order.
#pragma once

#include <memory>
#include <vector>

#include "mcore/memory/ops/pass.h"
#include "mcore/memory/state/static_state.h"
#include "mcore/memory/tape/caches.h"
#include "mcore/memory/tape/graph.h"
#include "mcore/run.h"

namespace refrain::mcore::memory {

/// A forward whose backward is still to come, or, held by a Python variable of the schedule, has
/// run already: its graph then keeps the input that gradients were added to, and nothing else.
struct ForwardPass {
  Tensor input;
  Tensor output;
  Graph graph;
  Storage gathered;  // full weights outside of layers, where a rank keeps a part of them only
};
using ForwardPassPtr = std::shared_ptr<ForwardPass>;

class Stage {
 public:
  /// `expert_load`: rows that this rank's experts get, as a multiple of an even share.
  Stage(const Run& run, int64_t rank, Memory& memory, double expert_load);

  /// Runs a micro-batch through a chunk. The chunk's module holds on to `input` until it gets
  /// another one (set_input_tensor of core/transformer/transformer_block.py).
  ForwardPassPtr forward(int64_t virtual_stage, Tensor input);

  /// Runs the backward of `pass`; `gradient` is that of its output, null where it is the loss.
  void backward(int64_t virtual_stage, ForwardPass& pass, Storage gradient);

  void begin_step();
  /// The head's gradients that were put off, then the optimizer.
  void end_step();

  bool is_first(int64_t virtual_stage) const;
  bool is_last(int64_t virtual_stage) const;
  /// A hidden state as it is sent between stages.
  Tensor receive(std::string_view account);

 private:
  std::vector<Storage> batch(int64_t virtual_stage);
  Storage gather_outside_layers(int64_t virtual_stage);
  Tensor decoder(Pass& pass, int64_t virtual_stage, Tensor x);
  Tensor encoder_and_decoder(Pass& pass);
  Tensor loss(Pass& pass, int64_t virtual_stage, const Tensor& x);
  Pass pass_of(ForwardPass& forward);

  const Run& run_;
  int64_t rank_;
  Memory& memory_;
  double expert_load_;
  StaticState state_;
  Caches caches_;
  Sizes sizes_;
  std::vector<Tensor> module_inputs_;  // by virtual stage
  std::vector<DeferredGradient> deferred_;
};

}  // namespace refrain::mcore::memory
