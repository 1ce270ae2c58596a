#include "model/scratch.h"

#include <algorithm>

#include "base/error.h"

namespace refrain::model {
namespace {

Bytes array(DType dtype, int64_t count) { return size_of(dtype) * count; }

int64_t num_chunks(int64_t rows, int64_t chunk_rows) {
  return (rows + chunk_rows - 1) / chunk_rows;
}

const TensorSpec& read(const LayerGraph& graph, const Op& op, int index) {
  return graph.tensors[op.reads.at(index)];
}

/// Backward: a partial sum of each parameter's gradient for every kReduceRows rows.
Scratch norm_scratch(const LayerGraph& graph, const Op& op) {
  const TensorSpec& x = read(graph, op, 0);
  const int64_t columns = x.shape.back();
  const int64_t sums = num_chunks(numel(x.shape) / columns, kReduceRows) * columns;
  const Bytes piece = scratch_bytes({array(accumulate_dtype(x.dtype), sums)});
  return {Bytes(0), piece * static_cast<int64_t>(op.params.size())};
}

/// bf16: float32 copies of the weight and of a chunk of rows on each side of the GEMM.
Scratch linear_scratch(const LayerGraph& graph, const Op& op) {
  const TensorSpec& x = read(graph, op, 0);
  if (x.dtype != DType::kBF16) return {};
  const auto& linear = std::get<LinearAttributes>(op.attributes);
  const int64_t rows = std::min(numel(x.shape) / linear.in, kConvertRows);
  const Bytes bytes =
      scratch_bytes({array(DType::kF32, linear.out * linear.in),
                     array(DType::kF32, rows * linear.in), array(DType::kF32, rows * linear.out)});
  return {bytes, bytes};
}

/// What attention's kernels hold a worker, in the accumulate dtype: blocks of rows of the scores,
/// and in bf16 copies of blocks of rows and of whole heads.
struct AttentionPieces {
  Bytes scores, tile, rows, head;
  bool converts;

  AttentionPieces(const AttentionAttributes& attention, DType storage)
      : scores(array(accumulate_dtype(storage), kAttentionRows * attention.seq)),
        tile(array(accumulate_dtype(storage),
                   kAttentionRows * std::min(attention.seq, kAttentionKeys))),
        rows(array(accumulate_dtype(storage), kAttentionRows * attention.head_dim)),
        head(array(accumulate_dtype(storage), attention.seq * attention.head_dim)),
        converts(storage == DType::kBF16) {}
};

/// Backward also holds dK and dV of each share of a kv head; the first share sums in the gradient
/// itself, unless that is bf16.
Scratch attention_scratch(const LayerGraph& graph, const Op& op, int64_t threads) {
  const auto& attention = std::get<AttentionAttributes>(op.attributes);
  const DType storage = read(graph, op, 0).dtype;
  const AttentionPieces pieces(attention, storage);
  Bytes forward = scratch_bytes({pieces.scores});
  Bytes backward = scratch_bytes({pieces.tile, pieces.tile});
  if (pieces.converts) {
    const auto& [scores, tile, rows, head, converts] = pieces;
    forward += scratch_bytes({rows, rows, head, head});
    backward += scratch_bytes({rows, rows, rows, head, head});
  }
  const int64_t partials = attention_shares(attention) - (pieces.converts ? 0 : 1);
  const int64_t kv_heads = attention.batch * attention.num_kv_heads;
  const Bytes sums = array(accumulate_dtype(storage),
                           kv_heads * partials * 2 * attention.seq * attention.head_dim);
  return {forward * threads, backward * threads + scratch_bytes({sums})};
}

/// bf16 alone: a block of scores and of q, and a kv head; backward sums up dK beside them.
Scratch scores_scratch(const LayerGraph& graph, const Op& op, int64_t threads) {
  const DType storage = read(graph, op, 0).dtype;
  const AttentionPieces pieces(std::get<AttentionAttributes>(op.attributes), storage);
  if (!pieces.converts) return {};
  const auto& [scores, tile, rows, head, converts] = pieces;
  return {scratch_bytes({scores, rows, head}) * threads,
          scratch_bytes({scores, rows, rows, head, head}) * threads};
}
/// With dropout or in bf16 a block of dropout(probabilities). bf16: a block of out and a kv head;
/// backward also a block of the probabilities' gradient and the sum of dV.
Scratch context_scratch(const LayerGraph& graph, const Op& op, int64_t threads) {
  const auto& attention = std::get<AttentionAttributes>(op.attributes);
  const AttentionPieces pieces(attention, read(graph, op, 0).dtype);
  const auto& [scores, tile, rows, head, converts] = pieces;
  if (converts) {
    return {scratch_bytes({scores, rows, head}) * threads,
            scratch_bytes({scores, scores, rows, head, head}) * threads};
  }
  const Bytes dropped = attention.dropout > 0 ? scratch_bytes({scores}) * threads : Bytes(0);
  return {dropped, dropped};
}
/// The logits of a chunk of tokens and the loss of each; bf16: copies of the chunk and of
/// kConvertVocab rows of the weight.
Scratch head_loss_scratch(const LayerGraph& graph, const Op& op) {
  const auto& head = std::get<HeadLossAttributes>(op.attributes);
  const DType storage = read(graph, op, 0).dtype;
  const Shape& weight = graph.params[op.params.at(0)].shape;
  const int64_t vocab = weight.at(0), hidden = weight.at(1);
  Bytes bytes = scratch_bytes({array(accumulate_dtype(storage), head.chunk_tokens * vocab),
                               array(DType::kF64, head.chunk_tokens)});
  if (storage == DType::kBF16) {
    bytes += scratch_bytes({array(DType::kF32, head.chunk_tokens * hidden),
                            array(DType::kF32, std::min(vocab, kConvertVocab) * hidden)});
  }
  return {bytes, bytes};
}
}  // namespace

int64_t attention_blocks(const AttentionAttributes& attention) {
  return num_chunks(attention.seq, kAttentionRows);
}

int64_t attention_shares(const AttentionAttributes& attention) {
  const int64_t kv_heads = attention.batch * attention.num_kv_heads;
  const int64_t blocks = attention.num_heads / attention.num_kv_heads * attention_blocks(attention);
  return std::min(num_chunks(kAttentionTasks, kv_heads), blocks);
}

Bytes scratch_bytes(std::initializer_list<Bytes> pieces) {
  Bytes sum;
  for (const Bytes piece : pieces) {
    const int64_t units = (piece.count() + kScratchAlign - 1) / kScratchAlign;
    sum += Bytes(units * kScratchAlign);
  }
  return sum;
}

DType accumulate_dtype(DType storage) { return storage == DType::kF64 ? DType::kF64 : DType::kF32; }

Scratch scratch_of(const LayerGraph& graph, const Op& op, int64_t threads) {
  switch (op.kind) {
    case OpKind::kNorm:
      return norm_scratch(graph, op);
    case OpKind::kLinear:
      return linear_scratch(graph, op);
    case OpKind::kAttention:
      return attention_scratch(graph, op, threads);
    case OpKind::kAttentionScores:
      return scores_scratch(graph, op, threads);
    case OpKind::kAttentionContext:
      return context_scratch(graph, op, threads);
    case OpKind::kHeadLoss:
      return head_loss_scratch(graph, op);
    case OpKind::kEmbedding:
    case OpKind::kRope:
    case OpKind::kSoftmax:
    case OpKind::kActivation:
    case OpKind::kAdd:
    case OpKind::kDropout:
      return {};
  }
  RC_CHECK(false, "op kind {}", static_cast<int>(op.kind));
}

}  // namespace refrain::model
