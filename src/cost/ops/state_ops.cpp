// Mixers that carry a state over the sequence: Mamba, and gated-delta-net linear attention.
//
// Sources: Megatron-Core, core/ssm/mamba_mixer.py and core/ssm/gated_delta_net/ (the layers), and
// flash-linear-attention, fla/ops/gated_delta_rule/chunk.py (the kernels of the delta rule).
//
// The delta rule, a head and token, d_k and d_v its key and value dims, in chunks of C tokens:
//   A = K K^T                         reads k, writes A in float32
//   T = (I + A)^-1                    reads A, writes T
//   W, U = T K, T V                   reads k, v, T, writes w, u
//   V' = U - W S;  S += K^T V'        reads k, w, u, writes v' and S once a chunk
//   O = Q S + (Q K^T) V'              reads q, k, v', S, writes o
// and backward: W, U and S once more, then the gradients of O, of S back over the chunks, and of
// the T form. Bytes count every read and write of those kernels at two bytes an element, FLOPs
// every product; no factor is fitted, so what the kernels lose to their small tiles is not in it.
#include <algorithm>

#include "cost/ops/layer_ops.h"
#include "cost/ops/pieces.h"

namespace refrain::cost {
namespace {

constexpr double kChunk = 64;  // tokens, the kernels' constant

struct HeadDims {
  double key, value;
};

MemoryTraffic delta_rule_bytes(const HeadDims& dims) {
  const auto& [k, v] = dims;
  const double state = k * v / kChunk;  // a token's share of what is written once a chunk
  const double scores = 2 * k + 4 * kChunk;
  const double inverse = 4 * kChunk + 2 * kChunk;
  const double wu = 2 * (2 * k + 2 * v + kChunk);
  const double states = 2 * (2 * k + 2 * v + state);
  const double output = 2 * (2 * k + 2 * v + state);
  const double value_gradient = 2 * (2 * k + 2 * v);
  const double state_gradient = 2 * (3 * k + 3 * v + state);
  const double qkw_gradient = 2 * (6 * k + 3 * v + 2 * state);
  const double wu_gradient = 2 * (3 * k + 3 * v + kChunk);
  return {.forward = scores + inverse + wu + states + output,
          .backward = wu + states + value_gradient + state_gradient + qkw_gradient + wu_gradient};
}

/// Products of a chunk's tokens with each other (C), with the state (d_k d_v); 2 FLOP a
/// multiply-add; the inverse is a triangular solve.
MemoryTraffic delta_rule_flops(const HeadDims& dims) {
  const auto& [k, v] = dims;
  const double wu = 2 * kChunk * (k + v);
  const double states = 4 * k * v;
  const double forward =
      2 * kChunk * k + kChunk * kChunk + wu + states + (2 * k * v + 2 * kChunk * (k + v));
  const double value_gradient = 2 * kChunk * (k + v);
  const double state_gradient = 6 * k * v;
  const double qkw_gradient = 6 * k * v + 2 * kChunk * (2 * k + v);
  const double wu_gradient = 4 * kChunk * (k + v) + 4 * kChunk * kChunk;
  return {.forward = forward,
          .backward = wu + states + value_gradient + state_gradient + qkw_gradient + wu_gradient};
}

MemoryTraffic scaled(const MemoryTraffic& traffic, double factor) {
  return {traffic.forward * factor, traffic.backward * factor};
}

/// A rank's columns of a linear-attention layer.
struct LinearColumns {
  explicit LinearColumns(const mcore::Run& run) {
    const mcore::StateSize& size = run.model.state;
    const auto t = static_cast<double>(run.parallel.tensor);
    heads = static_cast<double>(size.num_value_heads) / t;
    key = static_cast<double>(size.num_key_heads * size.key_dim) / t;
    value = static_cast<double>(size.num_value_heads * size.value_dim) / t;
    repeated_key = heads * static_cast<double>(size.key_dim);
    projected = 2 * key + 2 * value + 2 * heads;
  }
  double heads, key, value, repeated_key, projected;
};

/// Context parallelism swaps tokens for heads before the convolution and back after the norm: every
/// rank keeps 1/c and sends the rest, with nothing to hide it behind.
void add_exchange(OpList& ops, const mcore::Run& run, std::string_view name, double columns,
                  LabelSet labels = {}) {
  const auto c = static_cast<double>(run.parallel.context);
  if (c == 1) return;
  ops.add({.name = name,
           .work = ContextLink{2 * ops.shape().tokens * columns * (c - 1) / c, 1},
           .host = kLinkUnits,
           .labels = labels});
}

void add_convolution(OpList& ops, const LinearColumns& columns) {
  const double elements = ops.shape().tokens * (2 * columns.key + columns.value);
  ops.add(
      {.name = "convolution", .work = MemoryTraffic{4 * elements, 6 * elements}, .host = {2, 3}});
}

/// Norms q and k, repeats them for the value heads, copies v and the gate into place, makes decay
/// and beta (a number a head: not counted). Backward also reads what was normed.
void add_preparation(OpList& ops, const LinearColumns& columns) {
  const double tokens = ops.shape().tokens;
  const double moved = 6 * columns.key + 2 * columns.repeated_key + 4 * columns.value;
  ops.add({.name = "delta_inputs",
           .work = MemoryTraffic{2 * tokens * moved, 2 * tokens * (moved + 2 * columns.key)},
           .host = {8, 10}});
}

void add_delta_rule(OpList& ops, const mcore::Run& run, const LinearColumns& columns) {
  const HeadDims dims = {static_cast<double>(run.model.state.key_dim),
                         static_cast<double>(run.model.state.value_dim)};
  const double heads = ops.shape().tokens * columns.heads;
  ops.add({.name = "delta_rule",
           .work = ChunkedRule{scaled(delta_rule_bytes(dims), heads),
                               scaled(delta_rule_flops(dims), heads)},
           .host = {10, 12}});  // 6 and 8 kernels, and the framework's function around them
}

/// Reads the rule's output and the gate, writes their product, then transposes it.
void add_gated_norm(OpList& ops, const LinearColumns& columns) {
  const double elements = ops.shape().tokens * columns.value;
  ops.add({.name = "gated_norm",
           .work = MemoryTraffic{10 * elements, 14 * elements},
           .host = {3, 4},
           .labels = {Label::kGdnNormOut},
           .recast = elements});
}

}  // namespace

Ops linear_attention_ops(const mcore::Run& run) {
  const LinearColumns columns(run);
  const auto hidden = static_cast<double>(run.model.hidden);
  OpList ops(run, scope::kAttention);
  const RankShape& shape = ops.shape();
  ops.norm(kModuleUnits, {}, shape.sequence_tokens);  // fused into the projection: not labelled
  ops.gather();
  ops.gemm("linear_in", {shape.tokens, columns.projected, hidden});
  add_exchange(ops, run, "exchange_in", columns.projected);
  add_convolution(ops, columns);
  add_preparation(ops, columns);
  add_delta_rule(ops, run, columns);
  add_gated_norm(ops, columns);
  add_exchange(ops, run, "exchange_out", columns.value, {Label::kGdnNormOut});
  ops.gemm("linear_out", {shape.tokens, hidden, columns.value}, {}, true);
  ops.scatter({}, true);
  ops.residual(shape.sequence_tokens);
  return ops.take();
}

/// The residual is added where the next layer norms, so no op of its own.
Ops mamba_ops(const mcore::Run& run) {
  const mcore::StateSize& size = run.model.state;
  const auto inner = static_cast<double>(size.num_heads * size.head_dim);
  const double projected = 2 * inner + static_cast<double>(2 * size.num_groups * size.state_dim) +
                           static_cast<double>(size.num_heads);
  const auto hidden = static_cast<double>(run.model.hidden);
  OpList ops(run, scope::kMamba);
  const RankShape& shape = ops.shape();
  const double scanned = 2 * shape.tokens * projected / shape.split;
  ops.norm(kKernelUnits, {}, shape.split_tokens);
  ops.gather();
  ops.gemm("mamba_in", {shape.tokens, projected / shape.split, hidden});
  // Convolution and scan each read and write what was projected; backward moves 2.5 times as much.
  ops.add({.name = "scan", .work = Scan{4 * scanned, 10 * scanned}, .host = {12, 14}});
  ops.gemm("mamba_out", {shape.tokens, hidden, inner / shape.split}, {}, true);
  ops.scatter({}, true);
  return ops.take();
}

}  // namespace refrain::cost
