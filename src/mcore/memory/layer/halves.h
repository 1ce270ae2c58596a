// The two halves of a layer, each with its norm and the sum with the residual stream: one mixes
// tokens, the other works on each token alone.
#pragma once

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// Softmax attention over heads (core/transformer/attention.py). `padding_mask`: tokens of a padded
/// batch attend both ways.
Tensor attention_half(Pass& pass, const Tensor& x, bool padding_mask);

/// Attention of decoder tokens `x` over the encoder's output, whose sizes are `encoder_sizes`.
Tensor cross_attention_half(Pass& pass, const Tensor& x, const Tensor& encoded,
                            const Sizes& encoder_sizes);

/// Multi-latent attention (core/transformer/multi_latent_attention.py): queries, keys and values go
/// through a narrow latent each.
Tensor latent_attention_half(Pass& pass, const Tensor& x);

/// A gated delta net (core/ssm/gated_delta_net/gdn.py).
Tensor linear_attention_half(Pass& pass, const Tensor& x);

/// A Mamba-2 mixer (core/ssm/mamba_mixer.py).
Tensor mamba_half(Pass& pass, const Tensor& x);

/// A dense MLP (core/transformer/mlp.py) with its norm and the sum with the residual stream.
Tensor dense_half(Pass& pass, const Tensor& x);

/// A mixture of experts (core/transformer/moe/moe_layer.py) with its norm and the sum with the
/// residual stream.
Tensor experts_half(Pass& pass, const Tensor& x);

/// The experts that every token goes through.
Tensor shared_experts(Pass& pass, const Tensor& normed);

}  // namespace refrain::mcore::memory
