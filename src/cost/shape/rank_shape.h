// The sizes that a layer's ops are made of: one rank's part of a micro-batch.
#pragma once

#include "mcore/run.h"

namespace refrain::cost {

struct RankShape {
  double split = 1;            // tensor-parallel ranks
  double tokens = 0;           // before the split of the sequence
  double sequence_tokens = 0;  // of norms and residuals: split under sequence parallelism
  double split_tokens = 0;     // always split: what a rank routes or projects to a latent
  double gather_bytes = 0;     // of one gather or scatter of the hidden state between those ranks

  bool splits() const { return split > 1; }
};

RankShape rank_shape(const mcore::Run& run);

/// Mean number of positions a token attends to: half the sequence under a causal mask, less in a
/// window: the first `window` tokens see what is before them, the others `window` positions.
double mean_visible(const mcore::Run& run, const mcore::LayerKind& kind);

}  // namespace refrain::cost
