// What fused and unfused attention share: where the heads lie, and how the work is cut.
//
// Shapes: b sequences of s tokens, H heads, K kv heads, d head size; head h reads kv head
// h / (H / K). Tensors of tokens are [b * s, heads, d]; scores and probabilities [b, H, s, s].
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "engine/kernels/kernel.h"
#include "engine/numerics/matrix.h"
#include "engine/numerics/philox.h"
#include "model/scratch.h"

namespace refrain::engine {

using model::AttentionAttributes;

inline const AttentionAttributes& attention_of(const model::Op& op) {
  return std::get<AttentionAttributes>(op.attributes);
}

/// Heads that share a kv head.
inline int64_t group_size(const AttentionAttributes& attention) {
  return attention.num_heads / attention.num_kv_heads;
}

/// What the scores are multiplied by.
inline double attention_scale(const AttentionAttributes& attention) {
  return 1.0 / std::sqrt(static_cast<double>(attention.head_dim));
}

/// Nothing where the probability is 0. Elements are numbered as in a tensor [b, H, s, s].
inline std::optional<Dropout> dropout_of(const AttentionAttributes& attention,
                                         const DropoutKey& key) {
  if (attention.dropout == 0) return {};
  return Dropout(key, attention.dropout);
}

/// A run of heads inside a tensor [b * s, heads, d].
template <class Storage>
struct Heads {
  Storage* data = nullptr;  // the run's first head of token 0
  int64_t stride = 0;       // between tokens
  int64_t seq = 0, head_dim = 0;

  /// [s, d]; `head` counts from the run's first.
  Matrix<Storage> of(int64_t batch, int64_t head) const {
    return {data + batch * seq * stride + head * head_dim, seq, head_dim, stride};
  }
};

/// The heads from `first` on of a contiguous tensor [b * s, heads, d]. `Storage` may be const.
template <class Storage>
Heads<Storage> heads_of(const AttentionAttributes& attention, const at::Tensor& tensor,
                        int64_t first) {
  RC_CHECK(tensor.dim() == 3 && tensor.size(0) == attention.batch * attention.seq &&
               tensor.size(2) == attention.head_dim,
           "{} dimensions of {} elements", tensor.dim(), tensor.numel());
  Storage* data;
  if constexpr (std::is_const_v<Storage>) {
    data = const_pointer<std::remove_const_t<Storage>>(tensor);
  } else {
    data = pointer<Storage>(tensor);
  }
  return {data + first * attention.head_dim, tensor.size(1) * attention.head_dim, attention.seq,
          attention.head_dim};
}

/// Where the k and v heads begin in the tensors that hold them.
inline int64_t first_k_head(const AttentionAttributes& attention) {
  return attention.separate_qkv ? 0 : attention.num_heads;
}
inline int64_t first_v_head(const AttentionAttributes& attention) {
  return attention.separate_qkv ? 0 : attention.num_heads + attention.num_kv_heads;
}

/// Where k and v stand among the reads {qkv} or {q, k, v}.
inline int k_read(const AttentionAttributes& attention) { return attention.separate_qkv ? 1 : 0; }
inline int v_read(const AttentionAttributes& attention) { return attention.separate_qkv ? 2 : 0; }

/// Query rows [begin, begin + rows) of one head; none of them sees a key from `keys` on.
struct QueryBlock {
  int64_t batch, head, kv_head;
  int64_t begin, rows, keys;
};

/// Blocks of model::kAttentionRows query rows in a sequence.
inline int64_t num_query_blocks(const AttentionAttributes& attention) {
  return model::attention_blocks(attention);
}

/// Block `index` of a head, the last rows first: they see the most keys, and work handed out from
/// large to small leaves no worker behind.
inline QueryBlock query_block(const AttentionAttributes& attention, int64_t batch, int64_t head,
                              int64_t index) {
  const int64_t begin = (num_query_blocks(attention) - 1 - index) * model::kAttentionRows;
  const int64_t end = std::min(attention.seq, begin + model::kAttentionRows);
  return {batch, head, head / group_size(attention), begin, end - begin, end};
}

/// The block's rows of a run of q (or out) heads, and the rows of its kv head that they see.
template <class Storage>
Matrix<Storage> rows_of_block(const Heads<Storage>& heads, const QueryBlock& block) {
  return heads.of(block.batch, block.head).row_block(block.begin, block.rows);
}
template <class Storage>
Matrix<Storage> rows_seen(const Heads<Storage>& heads, const QueryBlock& block) {
  return heads.of(block.batch, block.kv_head).row_block(0, block.keys);
}

/// The matrix row of scores, probabilities or log-sum-exp that row `i` of a block is.
inline int64_t score_row(const AttentionAttributes& attention, const QueryBlock& block, int64_t i) {
  return (block.batch * attention.num_heads + block.head) * attention.seq + block.begin + i;
}

/// The plain twins' tools. `count` heads from `first` on as [b, count, s, d], in the accumulate
/// type; and back to [b * s, heads, d].
at::Tensor plain_heads(const AttentionAttributes& attention, const at::Tensor& tokens,
                       int64_t first, int64_t count);
at::Tensor plain_tokens(const at::Tensor& heads);
/// [b, K, s, d] -> [b, H, s, d], and the sum over the copies of each head.
at::Tensor repeat_heads(const AttentionAttributes& attention, const at::Tensor& kv);
at::Tensor sum_copies(const AttentionAttributes& attention, const at::Tensor& heads);
/// scale q k^T, -inf above the diagonal: [b, H, s, s] from q and repeated k.
at::Tensor plain_scores(const AttentionAttributes& attention, const at::Tensor& q,
                        const at::Tensor& k);
/// Adds into or writes heads [first, first + heads) of a gradient [b * s, all heads, d].
void deliver_heads(const GradientOut& out, int64_t first, const at::Tensor& heads);

/// Backward of the fused kernel, in attention_backward.cpp.
void attention_backward_fused(const model::Op& op, const BackwardArgs& args);

}  // namespace refrain::engine
