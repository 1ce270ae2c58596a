// Softmax attention: grouped queries, and latent attention (MLA).
//
// Sources: Megatron-Core, core/transformer/attention.py and multi_latent_attention.py. FLOPs: a
// token's scores and weighted sum are two products of the positions it sees with its heads' dims.
#include "cost/ops/layer_ops.h"
#include "cost/ops/pieces.h"

namespace refrain::cost {
namespace {

/// Share of the ring's traffic that does not run behind attention.
constexpr double kExposedRing = 0.3;

/// `elements` a token, keys and values, passed around the other context-parallel ranks.
void add_context_exchange(OpList& ops, const mcore::Run& run, double elements) {
  const auto others = static_cast<double>(run.parallel.context - 1);
  if (others == 0) return;
  ops.add({.name = "context_exchange",
           .work = ContextLink{2 * ops.shape().tokens * elements * others / ops.shape().split,
                               kExposedRing},
           .host = kLinkUnits,
           .labels = {Label::kCoreAttn}});
}

/// `dims`: of a query head and of a value head, together.
void add_core_attention(OpList& ops, const mcore::Run& run, const mcore::LayerKind& kind,
                        double dims) {
  const RankShape& shape = ops.shape();
  const double a_position =
      2 * shape.tokens * static_cast<double>(run.model.attention.num_heads) / shape.split * dims;
  ops.core_attention(a_position * mean_visible(run, kind),
                     a_position * static_cast<double>(run.batch.seq));
}

/// Queries, keys and values are split, rotated and written once: read and write of two bytes.
void add_split_and_rotate(OpList& ops, double columns) {
  const double bytes = 4 * ops.shape().tokens * columns / ops.shape().split;
  ops.add({.name = "split_rotate", .work = MemoryTraffic{bytes, bytes}, .host = {3, 3}});
}

/// Copies the gate out of the projection, then multiplies by its sigmoid. Backward reads the
/// gradient, the gate and the attention output and writes two gradients, one of them copied back.
void add_output_gate(OpList& ops, double columns) {
  const double elements = ops.shape().tokens * columns / ops.shape().split;
  ops.add(
      {.name = "output_gate", .work = MemoryTraffic{10 * elements, 14 * elements}, .host = {3, 4}});
}

void add_output(OpList& ops, const mcore::Run& run, double columns) {
  const RankShape& shape = ops.shape();
  ops.gemm("attention_out",
           {shape.tokens, static_cast<double>(run.model.hidden), columns / shape.split}, {}, true);
  ops.scatter({}, true);
  ops.residual(shape.sequence_tokens);
}

/// A down-projection to a latent and the latent's norm. Every rank projects its part of the tokens.
void add_latent(OpList& ops, const mcore::Run& run, std::string_view name, double width,
                double normed) {
  const double tokens = ops.shape().split_tokens;
  ops.gemm(name, {tokens, width, static_cast<double>(run.model.hidden)});
  ops.add({.name = "latent_norm",
           .work = MemoryTraffic{4 * tokens * normed, 8 * tokens * normed},
           .host = kKernelUnits});
}

}  // namespace

Ops attention_ops(const mcore::Run& run, const mcore::LayerKind& kind) {
  const mcore::AttentionSize& size = run.model.attention;
  const auto heads = static_cast<double>(size.num_heads);
  const auto groups = static_cast<double>(size.num_query_groups);
  const auto dim = static_cast<double>(size.head_dim);
  const double projected = ((size.output_gate ? 2 : 1) * heads + 2 * groups) * dim;

  OpList ops(run, scope::kAttention);
  const RankShape& shape = ops.shape();
  ops.norm(kModuleUnits, {}, shape.sequence_tokens);  // fused into the projection: not labelled
  ops.gather();
  ops.gemm("qkv", {shape.tokens, projected / shape.split, static_cast<double>(run.model.hidden)});
  add_split_and_rotate(ops, projected);
  add_context_exchange(ops, run, 2 * groups * dim);
  add_core_attention(ops, run, kind, 2 * dim);
  if (size.output_gate) add_output_gate(ops, heads * dim);
  add_output(ops, run, heads * dim);
  return ops.take();
}

Ops latent_attention_ops(const mcore::Run& run, const mcore::LayerKind& kind) {
  const mcore::AttentionSize& size = run.model.attention;
  const auto heads = static_cast<double>(size.num_heads);
  const auto nope = static_cast<double>(size.qk_nope_dim);
  const auto rope = static_cast<double>(size.qk_rope_dim);
  const auto value = static_cast<double>(size.v_dim);
  const auto hidden = static_cast<double>(run.model.hidden);
  const auto kv_rank = static_cast<double>(size.kv_lora_rank);
  const double q_width = size.q_lora_rank > 0 ? static_cast<double>(size.q_lora_rank) : hidden;
  const LabelSet up = {Label::kMlaUpProj};

  OpList ops(run, scope::kAttention);
  const RankShape& shape = ops.shape();
  const auto columns = [&](double dims) { return heads * dims / shape.split; };
  ops.norm(kModuleUnits, {Label::kLayernorm}, shape.sequence_tokens);
  if (size.q_lora_rank > 0) add_latent(ops, run, "q_down", q_width, q_width);
  ops.gemm("q_up", {shape.tokens, columns(nope + rope), q_width}, up);
  add_latent(ops, run, "kv_down", kv_rank + rope, kv_rank);
  ops.gemm("kv_up", {shape.tokens, columns(nope + value), kv_rank}, up);
  const double bytes = 4 * shape.tokens * columns(2 * (nope + rope) + value);
  ops.add(
      {.name = "split_rotate", .work = MemoryTraffic{bytes, bytes}, .host = {8, 8}, .labels = up});
  if (shape.splits()) {
    ops.add({.name = "gather_latents",
             .work = TensorLink{shape.gather_bytes * (q_width + kv_rank) / hidden, true},
             .host = kLinkUnits,
             .labels = up});
  }
  add_context_exchange(ops, run, heads * (nope + rope + value));
  add_core_attention(ops, run, kind, nope + rope + value);
  add_output(ops, run, heads * value);
  return ops.take();
}

}  // namespace refrain::cost
