// What a rank holds from construction to the end: weights, main gradients, main weights and the
// optimizer's moments, and what low-precision GEMMs keep of the weights.
#pragma once

#include <cstdint>
#include <vector>

#include "mcore/memory/state/parameters.h"
#include "mcore/memory/tape/storage.h"
#include "mcore/run.h"

namespace refrain::mcore::memory {

class StaticState {
 public:
  /// Constructs the model of `rank` and its optimizer: the modules' own weights first, then the
  /// buffers that replace them under the distributed optimizer (core/distributed/
  /// param_and_grad_buffer.py), then main weights (core/optimizer/optimizer.py,
  /// distrib_optimizer.py).
  StaticState(const Run& run, int64_t rank, Memory& memory);

  /// Before a step: what the last optimizer step left behind goes (optimizer.zero_grad).
  void zero_grad();

  /// The first forward of a chunk quantizes its weights; the copies stay where weights are kept in
  /// a wider format (TransformerEngine, pytorch/module/base.py, get_weight_workspace).
  void quantize_weights(int64_t virtual_stage);

  /// The optimizer's step; the first one allocates its moments.
  void optimizer_step();

 private:
  /// Parameters of one chunk that share a buffer.
  struct Group {
    std::vector<Parameter> parameters;
    bool expert = false;
    bool quantized = false;    // kept in the GEMMs' format
    bool first_chunk = false;  // of the model
  };

  std::vector<Group> groups_of(int64_t virtual_stage) const;
  int64_t weight_bytes(const Parameter& parameter) const;
  void build_buffers(int64_t virtual_stage);
  /// Fully sharded data parallel: this rank's part of weights and gradients
  /// (core/distributed/fsdp, "optim_grads_params").
  void build_sharded(const Group& group);
  void build_main_weights(const Group& group);
  void allocate_moments();
  void keep(int64_t bytes, std::string_view account);
  int64_t on_device(int64_t bytes) const;

  const Run& run_;
  int64_t rank_;
  Memory& memory_;
  std::vector<Storage> kept_;
  std::vector<std::vector<Storage>> modules_;  // by virtual stage: weights as the modules made them
  std::vector<std::vector<Parameter>> chunks_;  // by virtual stage
  std::vector<bool> quantized_;                 // by virtual stage
  std::vector<int64_t> main_elements_;          // one entry for each main weight of this rank
  std::vector<Storage> main_gradients_;         // copies of gradients narrower than float32
  bool has_moments_ = false;
};

}  // namespace refrain::mcore::memory
