// Element-wise ops between the linears.
#pragma once

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// GELU, or the gated product (SwiGLU) where `x` is twice as wide: keeps its input.
Tensor activation(Pass& pass, const Tensor& x, bool gated);

/// residual + dropout(x + bias), one fused op: keeps the mask, a byte an element, or nothing
/// without dropout (core/fusions/fused_bias_dropout.py).
Tensor bias_dropout_add(Pass& pass, const Tensor& x, const Tensor& residual);

/// The sum of two tensors of one size.
Tensor add(Pass& pass, const Tensor& a, const Tensor& b);

}  // namespace refrain::mcore::memory
