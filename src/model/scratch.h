// How much scratch each kernel asks for, exactly. The kernels carve these layouts; the ledger adds
// these bytes; the executor hands over a block of just this size.
#pragma once

#include <initializer_list>

#include "model/graph.h"

namespace refrain::model {

// Attention kernels work on this many query rows at a time: what a worker holds of the scores.
inline constexpr int64_t kAttentionRows = 64;
// Keys that fused attention's backward takes at a time: its two tiles stay in the second-level
// cache beside the rows of q, k and v that they are made from.
inline constexpr int64_t kAttentionKeys = 256;
// Fused attention's backward is cut into at least this many tasks where the sequence allows. A
// constant, as sums must not depend on the number of workers.
inline constexpr int64_t kAttentionTasks = 8;
// Token rows that a reduction over tokens (norm weight and bias gradients) sums in one go; fixed,
// so results do not depend on the number of workers.
inline constexpr int64_t kReduceRows = 128;
// bf16 GEMMs run in float32 over this many tokens at a time.
inline constexpr int64_t kConvertRows = 512;
// Rows of the head's bf16 weight that exist in float32 at a time.
inline constexpr int64_t kConvertVocab = 2048;

/// Every piece of scratch starts at a multiple of this many bytes.
inline constexpr int64_t kScratchAlign = 64;

/// Blocks of kAttentionRows query rows in a sequence.
int64_t attention_blocks(const AttentionAttributes& attention);
/// Tasks among which fused attention's backward shares out the query blocks of one kv head.
int64_t attention_shares(const AttentionAttributes& attention);

/// Bytes of these pieces laid one after the other, each rounded up to kScratchAlign.
Bytes scratch_bytes(std::initializer_list<Bytes> pieces);

/// The dtype in which kernels hold statistics, sums and parameter gradients beside activations of
/// `storage`: float64 for float64, else float32.
DType accumulate_dtype(DType storage);

struct Scratch {
  Bytes forward, backward;
};
/// `op` has its kind, attributes, reads, writes and params; `threads` workers run the kernels.
Scratch scratch_of(const LayerGraph& graph, const Op& op, int64_t threads);

}  // namespace refrain::model
