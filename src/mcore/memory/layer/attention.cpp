#include <string>
#include <utility>

#include "mcore/memory/layer/halves.h"
#include "mcore/memory/ops/core_attention.h"
#include "mcore/memory/ops/linear.h"
#include "mcore/memory/ops/offload.h"
#include "mcore/memory/ops/pointwise.h"
#include "mcore/memory/ops/regions.h"

namespace refrain::mcore::memory {
namespace {

int64_t query_width(const Run& run) {
  return run.model.attention.num_heads * run.model.attention.head_dim / run.parallel.tensor;
}

int64_t key_width(const Run& run) {
  return run.model.attention.num_query_groups * run.model.attention.head_dim / run.parallel.tensor;
}

Linear qkv_linear(const Run& run) {
  const int64_t gate = run.model.attention.output_gate ? query_width(run) : 0;
  return {.name = "attention.qkv",
          .in = run.model.hidden,
          .out = query_width(run) + 2 * key_width(run) + gate};
}

/// The context is kept by attention itself, so with every recipe but delayed scaling the projection
/// keeps it too instead of a low-precision copy (core/transformer/attention.py).
Linear output_linear(const Run& run, int64_t width) {
  return {.name = "attention.projection",
          .in = width,
          .out = run.model.hidden,
          .keeps_original = run.numerics.gemms != LowPrecision::kFp8Delayed};
}

/// Norms of queries and keys: outputs, and statistics of every head of every token.
std::vector<Storage> normalize_heads(Pass& pass, const HeadBytes& bytes) {
  const AttentionSize& size = pass.run.model.attention;
  std::vector<Storage> kept{pass.memory.allocate(bytes.query, "saved/attention.query norm"),
                            pass.memory.allocate(bytes.key, "saved/attention.key norm")};
  for (int i = 0; i < (pass.run.model.rms_norm ? 1 : 2); ++i) {
    for (const int64_t num : {size.num_heads, size.num_query_groups}) {
      kept.push_back(pass.memory.allocate(pass.sizes.tokens * num / pass.run.parallel.tensor * 4,
                                          "saved/statistics of attention.qk norm"));
    }
  }
  return kept;
}

/// Queries, keys and values, and what the attention module's own variables hold until it returns.
struct SplitHeads {
  Heads heads;
  std::vector<Storage> locals;
};

/// Copies of queries, keys and values, which then are what attention reads.
void copy_heads(Pass& pass, SplitHeads& split) {
  const HeadBytes& bytes = split.heads.bytes;
  split.locals.insert(split.locals.end(), split.heads.storages.begin(), split.heads.storages.end());
  split.heads.storages = {pass.memory.allocate(bytes.query, "saved/attention.query"),
                          pass.memory.allocate(bytes.key, "saved/attention.key"),
                          pass.memory.allocate(bytes.value, "saved/attention.value")};
}

/// Splits the projection into heads. Rotary positions make new queries and keys, and values are
/// copied with them since they are no view of one tensor any more (TransformerEngine,
/// attention/dot_product_attention/utils.py, get_qkv_layout). FlashAttention wants the batch first:
/// it gets copies (backends.py, _PrepareQKVForFA).
SplitHeads split_heads(Pass& pass, Tensor mixed, bool padding_mask) {
  const AttentionSize& size = pass.run.model.attention;
  SplitHeads split;
  Heads& heads = split.heads;
  heads.bytes.query = heads.bytes.context = pass.sizes.rows(query_width(pass.run));
  heads.bytes.key = heads.bytes.value = pass.sizes.rows(key_width(pass.run));
  heads.gradients.emplace_back(mixed.gradient,
                               heads.bytes.query + heads.bytes.key + heads.bytes.value);
  heads.num_heads = size.num_heads / pass.run.parallel.tensor;
  heads.key_tokens = pass.sizes.sequence;
  heads.repeats_keys = size.num_query_groups != size.num_heads;
  heads.padding_mask = padding_mask;
  std::vector<Storage> normalized;
  if (size.qk_norm) normalized = normalize_heads(pass, heads.bytes);
  const bool rotates = pass.run.model.positions == Model::Positions::kRope;
  const bool flash = pass.run.place.attention == AttentionKernel::kFlash;
  heads.storages = {std::move(mixed.storage)};
  if (rotates) {
    copy_heads(pass, split);
    if (flash && pass.run.batch.micro > 1) copy_heads(pass, split);
  } else if (flash) {
    split.locals = std::move(heads.storages);
    heads.storages = {pass.memory.allocate(heads.gradients.front().second, "saved/attention.qkv")};
  }
  heads.storages.insert(heads.storages.end(), normalized.begin(), normalized.end());
  return split;
}

/// context * sigmoid(gate): keeps the gate's sigmoid beside the context.
Tensor gated(Pass& pass, Tensor context) {
  Storage sigmoid = pass.memory.allocate(context.bytes(), "saved/attention.gate");
  Tensor out{pass.memory.allocate(context.bytes(), "saved/attention.gated context")};
  pass.graph->record(
      {context.storage, std::move(sigmoid)},
      [pass, from = out.gradient, to = context.gradient]() -> Gradients {
        const Storage incoming = take(from);
        return {{to, pass.memory.allocate(from->bytes, "gradient/attention.context")}};
      });
  return out;
}

Tensor attend_and_project(Pass& pass, Tensor mixed, bool padding_mask) {
  const Run& run = pass.run;
  const SplitHeads split = split_heads(pass, std::move(mixed), padding_mask);
  Tensor context = attend(pass, split.heads, recomputes(pass, "core_attn"));
  if (run.model.attention.output_gate) context = gated(pass, std::move(context));
  OffloadBracket bracket(pass, "attn_proj");
  Tensor out = row_linear(pass, context, output_linear(run, query_width(run)));
  bracket.close(pass);
  bracket.commit(pass);
  return out;
}

Tensor query_key_value(Pass& pass, const Tensor& x, const Linear& qkv) {
  OffloadBracket bracket(pass, "qkv_linear");
  Tensor mixed = norm_and_linear(pass, x, qkv);
  bracket.close(pass);
  bracket.commit(pass);
  return mixed;
}

}  // namespace

Tensor attention_half(Pass& pass, const Tensor& x, bool padding_mask) {
  const Linear qkv = qkv_linear(pass.run);
  if (pass.run.place.transformer_engine) {
    return bias_dropout_add(
        pass, attend_and_project(pass, query_key_value(pass, x, qkv), padding_mask), x);
  }
  OutputDiscarding normed(recomputes(pass, "layernorm"), pass, {x.storage}, [x](Pass& region) {
    return std::vector{norm(region, x, region.sizes.region_tokens, "attention.norm")};
  });
  const Tensor out =
      attend_and_project(pass, column_linear(pass, normed.outputs().front(), qkv), padding_mask);
  normed.discard(pass);
  return bias_dropout_add(pass, out, x);
}

Tensor cross_attention_half(Pass& pass, const Tensor& x, const Tensor& encoded,
                            const Sizes& encoder_sizes) {
  const Run& run = pass.run;
  const Tensor normed = norm(pass, x, pass.sizes.region_tokens, "cross attention.norm");
  Tensor query = column_linear(
      pass, normed,
      {.name = "cross attention.query", .in = run.model.hidden, .out = query_width(run)});
  Pass encoder = pass;
  encoder.sizes = encoder_sizes;
  Tensor key_value = column_linear(
      encoder, encoded,
      {.name = "cross attention.key value", .in = run.model.hidden, .out = 2 * query_width(run)});
  Heads heads;
  heads.bytes.query = heads.bytes.context = query.bytes();
  heads.bytes.key = heads.bytes.value = key_value.bytes() / 2;
  heads.gradients = {{query.gradient, query.bytes()}, {key_value.gradient, key_value.bytes()}};
  heads.storages = {std::move(query.storage), std::move(key_value.storage)};
  heads.num_heads = run.model.attention.num_heads / run.parallel.tensor;
  heads.key_tokens = encoder_sizes.sequence;
  heads.padding_mask = true;
  const Tensor context = core_attention(pass, std::move(heads));
  return bias_dropout_add(pass, row_linear(pass, context, output_linear(run, query_width(run))), x);
}

}  // namespace refrain::mcore::memory
