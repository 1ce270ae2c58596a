// A transformer declared as numbers: ops and named tensors, no tensor data.
//
// Everything downstream (lowering, ledger, prices, kernels) reads these declarations, so what an
// op's backward needs, which storage its output may take over, and how much scratch its kernel
// asks for stand here and nowhere else.
//
// Shapes: T tokens of a micro-batch (b sequences of s), h hidden, H heads, K kv heads, d head size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/quantity.h"
#include "config/model_config.h"
#include "config/recompute_setting.h"

namespace refrain::model {

enum class DType : uint8_t { kF32, kBF16, kF64, kI32 };
Bytes size_of(DType dtype);
std::string_view to_text(DType dtype);

using Shape = std::vector<int64_t>;
int64_t numel(const Shape& shape);

using TensorId = int32_t;  // index into LayerGraph::tensors
using ParamId = int32_t;   // index into LayerGraph::params

enum class OpKind : uint8_t {
  kEmbedding,         // token ids -> x, learned positions added where there are any
  kNorm,              // x -> y, statistics
  kLinear,            // x W^T + b
  kRope,              // rotates the q and k heads, in place
  kAttention,         // fused: q k v -> out, log-sum-exp
  kAttentionScores,   // unfused: scaled, causally masked q k^T
  kSoftmax,           // unfused: in place over the scores
  kAttentionContext,  // unfused: dropout(probabilities) v
  kActivation,        // GELU, in place in backward; or gated SwiGLU
  kAdd,               // residual + dropout(branch), in place over the branch
  kDropout,           // in place
  kHeadLoss,  // final projection and cross-entropy, in chunks of tokens; forward is backward
};
std::string_view to_text(OpKind kind);

struct EmbeddingAttributes {
  int64_t seq;
  bool positions;  // params: token weight [V, h], then position weight [P, h]
};
struct NormAttributes {
  config::NormKind kind;  // params: weight, and bias for LayerNorm
  double eps;
};
struct LinearAttributes {
  int64_t in, out;  // params: weight [out, in], then bias [out] where there is one
  bool bias;
};
struct RopeAttributes {
  int64_t seq, num_rotated;  // the first num_rotated heads of [T, heads, d] are rotated
  int64_t head_dim;          // params: table [2, s, d/2], cos then sin, not trained
};
/// Fused and unfused attention. Packed: kAttention reads {qkv} [T, H+2K, d], scores {qkv}, context
/// {probabilities, qkv}. Separate (models with q/k norm): kAttention reads {q [T, H, d], k [T, K,
/// d], v [T, K, d]}, scores {q, k}, context {probabilities, v}.
struct AttentionAttributes {
  int64_t batch, seq, num_heads, num_kv_heads, head_dim;
  double dropout;
  bool separate_qkv;
};
struct SoftmaxAttributes {};
struct ActivationAttributes {
  config::ActivationKind kind;  // SwiGLU reads [T, 2f]: gate in the first half, up in the second
};
struct DropoutAttributes {  // kDropout and kAdd
  double probability;
};
struct HeadLossAttributes {
  int64_t chunk_tokens;  // logits exist for this many tokens at a time; params: weight [V, h]
};
using OpAttributes = std::variant<EmbeddingAttributes, NormAttributes, LinearAttributes,
                                  RopeAttributes, AttentionAttributes, SoftmaxAttributes,
                                  ActivationAttributes, DropoutAttributes, HeadLossAttributes>;

struct TensorSpec {
  std::string name;  // "attn.qkv": the same in every layer
  Shape shape;
  DType dtype;

  Bytes bytes() const { return size_of(dtype) * numel(shape); }
};

enum class Init : uint8_t { kNormal, kOnes, kZeros, kRopeTable };

struct ParamSpec {
  std::string name;  // "attn.qkv.weight"; the model adds "layers.N."
  Shape shape;
  Init init = Init::kNormal;
  double init_std = 0.02;   // kNormal
  double rope_base = 0;     // kRopeTable
  bool decay = false;       // weight decay applies
  bool trained = true;      // false: a constant table, no gradient
  bool model_wide = false;  // one for the whole model (tied weight, RoPE table): no layer prefix
};

/// Which half of a layer an op stands in; Megatron's restore hooks sit on these modules' outputs.
enum class Module : uint8_t { kNone, kAttention, kMlp };

/// One op of a layer. Indices named `_read` point into `reads`.
struct Op {
  OpKind kind;
  std::string name;  // "attn.qkv"
  OpAttributes attributes;
  std::vector<TensorId> reads, writes;
  std::vector<ParamId> params;
  std::vector<TensorId> backward_reads;  // what backward needs of reads and writes

  /// writes[0] takes over the storage of this read, whose only reader is this op.
  std::optional<int> in_place_read;
  /// The gradients of these reads are the gradient of writes[0], in its storage (identity, or an
  /// element-wise backward in place).
  std::vector<int> shared_gradient_reads;
  /// The gradient of reads[read] may take over the storage of backward_reads[from].
  struct GradientReuse {
    int from, read;
  };
  std::optional<GradientReuse> gradient_reuse;
  /// Backward is two steps: the weight gradient, which alone needs backward_reads, then the input
  /// gradient.
  bool splits_backward = false;

  std::vector<config::Label> labels;
  Module module = Module::kNone;
  Flops forward_flops{}, backward_flops{};
  Bytes forward_scratch{}, backward_scratch{};  // exact: the executor hands this much to the kernel
};

/// A block of the model: the embedding, one kind of layer, or the head.
struct LayerGraph {
  std::vector<TensorSpec> tensors;
  std::vector<ParamSpec> params;
  std::vector<Op> ops;
  std::optional<TensorId> input;   // absent in the embedding block
  std::optional<TensorId> output;  // absent in the head block
};

struct Block {
  int32_t graph;                 // index into ModelGraph::graphs
  std::optional<int64_t> layer;  // 0-based; absent for the embedding and the head
};

/// The whole model: blocks in forward order; identical layers share one graph.
struct ModelGraph {
  std::vector<LayerGraph> graphs;
  std::vector<Block> blocks;
  Shape batch_shape;            // token ids and targets, int32 [b, s] each
  DType compute = DType::kF32;  // dtype of activations and weights
  bool masters = false;         // weights are bf16 beside float32 masters

  const LayerGraph& graph(size_t block) const { return graphs[blocks[block].graph]; }
};

/// Parameters of a ModelGraph, each once, in forward order, with their full names.
struct ModelParams {
  std::vector<ParamSpec> specs;             // name is the full one ("layers.3.mlp.down.weight")
  std::vector<std::vector<int32_t>> index;  // [block][ParamId] -> position in specs
};
ModelParams collect_params(const ModelGraph& graph);
int64_t num_trained(const ModelParams& params);

/// What must hold of a graph whoever built it; RC_CHECKs (ids in range, in-place reads with one
/// reader that no backward needs, shapes that fit where storage is shared).
void check(const LayerGraph& graph);

}  // namespace refrain::model
