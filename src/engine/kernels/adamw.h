// The optimizer's kernel: AdamW, one pass over a parameter.
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/kernels/kernel.h"

namespace refrain::engine {

/// Loshchilov and Hutter, "Decoupled weight decay regularization" (2019), algorithm 2.
struct AdamW {
  double lr = 3e-4, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  int64_t step = 1;              // 1-based, for bias correction
  double gradient_factor = 1.0;  // the clipping factor
};

/// Updates `weight` (float32 or float64) in place; where `bf16_copy` is defined it receives the
/// rounded weight. `m`, `v` have the weight's dtype.
void adamw(const AdamW& options, bool decay, const at::Tensor& weight, const at::Tensor& gradient,
           const at::Tensor& m, const at::Tensor& v, const at::Tensor& bf16_copy, KernelSet set);

/// Sum of squares in double, in a fixed order: equal for any number of threads.
double sum_of_squares(const at::Tensor& gradient);

}  // namespace refrain::engine
