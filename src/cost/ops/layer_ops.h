// The ops of a layer, in the order in which forward runs them.
//
// A new kind of layer is one builder here. Bytes are those of 16-bit elements: activations keep
// them under low-precision matrix products too.
#pragma once

#include "cost/ops/op.h"
#include "mcore/run.h"

namespace refrain::cost {

Ops layer_ops(const mcore::Run& run, const mcore::LayerKind& kind);

// The halves of a layer, each with its norm and residual.
Ops attention_ops(const mcore::Run& run, const mcore::LayerKind& kind);
Ops latent_attention_ops(const mcore::Run& run, const mcore::LayerKind& kind);
Ops linear_attention_ops(const mcore::Run& run);
Ops mamba_ops(const mcore::Run& run);
Ops dense_ops(const mcore::Run& run);
Ops expert_ops(const mcore::Run& run);

}  // namespace refrain::cost
