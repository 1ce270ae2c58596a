// Scores, softmax, dropout and context: unfused as torch ops, or one kernel of cuDNN or
// FlashAttention.
#pragma once

#include <utility>
#include <vector>

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// Bytes of one rank's heads.
struct HeadBytes {
  int64_t query = 0;    // and of dQ
  int64_t key = 0;      // and of dK
  int64_t value = 0;    // and of dV
  int64_t context = 0;  // heads times the value's width
};

/// What core attention reads. Its gradients are those of the projections the heads came from: one
/// tensor where queries, keys and values are parts of one projection.
struct Heads {
  std::vector<Storage> storages;
  std::vector<std::pair<GradientSlot, int64_t>> gradients;  // slots and bytes
  HeadBytes bytes;
  int64_t num_heads = 0;      // of this rank
  int64_t key_tokens = 0;     // of a sequence: what a query attends to
  bool repeats_keys = false;  // fewer groups than heads: unfused attention repeats keys and values
  bool padding_mask = false;  // the mask is a tensor
};

/// The context of every token, heads times the value's width.
Tensor core_attention(Pass& pass, Heads heads);

/// The same, recomputed or else offloaded where the run asks for it: a region bypasses the offload.
Tensor attend(Pass& pass, Heads heads, bool recomputed);

}  // namespace refrain::mcore::memory
