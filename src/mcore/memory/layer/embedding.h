// From token ids to the first hidden state.
#pragma once

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// Looks words and positions up, lays them out sequence first, scatters them with sequence parallel
/// and drops some (core/models/common/embeddings/language_model_embedding.py).
Tensor embedding(Pass& pass);

}  // namespace refrain::mcore::memory
