// The halves of a layer that work on each token alone.
#pragma once

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// A dense MLP (core/transformer/mlp.py) with its norm and the sum with the residual stream.
Tensor dense_half(Pass& pass, const Tensor& x);

/// A mixture of experts (core/transformer/moe/moe_layer.py) with its norm and the sum with the
/// residual stream.
Tensor experts_half(Pass& pass, const Tensor& x);

/// The experts that every token goes through.
Tensor shared_experts(Pass& pass, const Tensor& normed);

}  // namespace refrain::mcore::memory
