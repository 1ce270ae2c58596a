// From the last hidden state to the loss.
#pragma once

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// The final norm of a decoder.
Tensor final_norm(Pass& pass, const Tensor& x);

/// Logits of normed hidden states and their cross entropy: the loss of every token.
Tensor head(Pass& pass, const Tensor& normed);

/// BERT's extra transform before the logits: linear, GELU, norm.
Tensor masked_language_transform(Pass& pass, const Tensor& x);

/// Multi-token prediction (core/transformer/multi_token_prediction.py): for each depth an embedding
/// of shifted tokens joined with the hidden state, one more layer of `kind`, and one more head
/// whose loss is only added in backward. Returns the hidden states of the main head.
Tensor multi_token_prediction(Pass& pass, const Tensor& normed, const LayerKind& kind);

}  // namespace refrain::mcore::memory
