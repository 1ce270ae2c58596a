// The halves of a layer that mix tokens: norm, projections, mixing, output projection, and the sum
// with the residual stream.
#pragma once

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// Softmax attention over heads (core/transformer/attention.py). `padding_mask`: tokens of a padded
/// batch attend both ways.
Tensor attention_half(Pass& pass, const Tensor& x, bool padding_mask);

/// Attention of decoder tokens `x` over the encoder's output, whose sizes are `memory_sizes`.
Tensor cross_attention_half(Pass& pass, const Tensor& x, const Tensor& encoded,
                            const Sizes& encoder_sizes);

/// Multi-latent attention (core/transformer/multi_latent_attention.py): queries, keys and values go
/// through a narrow latent each.
Tensor latent_attention_half(Pass& pass, const Tensor& x);

/// A gated delta net (core/ssm/gated_delta_net/gdn.py).
Tensor linear_attention_half(Pass& pass, const Tensor& x);

/// A Mamba-2 mixer (core/ssm/mamba_mixer.py).
Tensor mamba_half(Pass& pass, const Tensor& x);

}  // namespace refrain::mcore::memory
