// Parameters and FLOPs of a model, as far as the seconds of a step and the published TFLOP/s need
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.h"
#include "mcore/run.h"

namespace refrain::cost {

/// Layers of one kind.
struct KindCount {
  mcore::LayerKind kind;
  int64_t count = 0;
};

/// Layers have one half each: attention, Mamba, dense or experts (Megatron-Core's hybrid patterns).
bool is_hybrid(const mcore::Model& model);

/// The layers of one multi-token prediction depth: the last layer's kind again; of a hybrid model,
/// attention and a feed-forward layer.
std::vector<mcore::LayerKind> depth_kinds(const mcore::Model& model);

/// The model's layer kinds in order of appearance, a hybrid model's prediction depths among them.
std::vector<KindCount> layer_kinds(const mcore::Run& run);

/// Weights of the whole model; norms and biases are left out, embedding and head are always two.
struct Parameters {
  double dense = 0;   // everything that every data-parallel rank has
  double routed = 0;  // in experts
};
Parameters parameters(const mcore::Run& run);

/// FLOPs of a step in the sense of the TFLOP/s that Megatron-LM and Megatron-Bridge print: forward
/// and twice that for backward, half of causal attention's scores, no recompute. Where only
/// adapters are trained, weights have no gradient of their own. Source: Megatron-Bridge,
/// training/utils/flop_utils.py.
Flops published_flops(const mcore::Run& run);

}  // namespace refrain::cost
