// Hands a gradient that a plain ATen kernel computed to whoever asked for it.
#pragma once

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "engine/kernels/kernel.h"

namespace refrain::engine {

/// Rounds `value` into the gradient (or adds it there); nothing where nobody wants it.
inline void deliver(const GradientOut& out, const at::Tensor& value) {
  if (!out.tensor.defined()) return;
  const at::Tensor shaped = value.reshape(out.tensor.sizes());
  if (out.accumulate) {
    out.tensor.add_(shaped);
  } else {
    out.tensor.copy_(shaped);
  }
}

/// RC_CHECKs that `b`, where defined, is `a`'s storage: the op said that backward is in place.
inline void check_shared(const at::Tensor& a, const at::Tensor& b) {
  RC_CHECK(!b.defined() || a.const_data_ptr() == b.const_data_ptr());
}

}  // namespace refrain::engine
