#include <utility>
#include <vector>

#include "mcore/memory/layer/halves.h"
#include "mcore/memory/ops/core_attention.h"
#include "mcore/memory/ops/linear.h"
#include "mcore/memory/ops/offload.h"
#include "mcore/memory/ops/pointwise.h"
#include "mcore/memory/ops/regions.h"

namespace refrain::mcore::memory {
namespace {

/// Widths of all heads of one tensor rank.
struct Widths {
  int64_t query = 0;      // and keys: the part without positions, and the rotary part
  int64_t positions = 0;  // the rotary part of the queries
  int64_t key_value = 0;  // what the latent is projected up to: keys without positions, values
  int64_t value = 0;
};

Widths widths_of(const Run& run) {
  const AttentionSize& size = run.model.attention;
  const int64_t heads = size.num_heads / run.parallel.tensor;
  return {.query = heads * (size.qk_nope_dim + size.qk_rope_dim),
          .positions = heads * size.qk_rope_dim,
          .key_value = heads * (size.qk_nope_dim + size.v_dim),
          .value = heads * size.v_dim};
}

/// The latents of one token: of queries (or the hidden state itself), of keys and values with the
/// rotary part of the keys behind it.
struct Latents {
  Tensor query, key_value;
};

Latents down_project(Pass& pass, const Tensor& normed) {
  const AttentionSize& size = pass.run.model.attention;
  // Discarded norm outputs must not leave a low-precision copy behind.
  const bool original = recomputes(pass, "layernorm");
  Latents latents{normed, {}};
  if (size.q_lora_rank > 0) {
    latents.query = whole_linear(pass, normed,
                                 {.name = "attention.query latent",
                                  .in = pass.run.model.hidden,
                                  .out = size.q_lora_rank,
                                  .keeps_original = original});
  }
  latents.key_value = whole_linear(pass, normed,
                                   {.name = "attention.key value latent",
                                    .in = pass.run.model.hidden,
                                    .out = size.kv_lora_rank + size.qk_rope_dim,
                                    .keeps_original = original});
  return latents;
}

/// The part of the latent that holds no positions: a view, so the whole stays.
Tensor without_positions(Pass& pass, const Tensor& latent) {
  const AttentionSize& size = pass.run.model.attention;
  const int64_t width = size.kv_lora_rank + size.qk_rope_dim;
  Tensor part{pass.memory.allocate(latent.bytes() / width * size.kv_lora_rank,
                                   "saved/attention.key value latent part")};
  pass.graph->record(
      {},
      [pass, bytes = latent.bytes(), from = part.gradient, to = latent.gradient]() -> Gradients {
        const Storage incoming = take(from);
        return {{to, pass.memory.allocate(bytes, "gradient/attention.latent")}};
      });
  return part;
}

Tensor normed_linear(Pass& pass, const Tensor& x, const Linear& linear) {
  if (!pass.run.model.attention.qk_norm) return column_linear(pass, x, linear);
  if (pass.run.place.transformer_engine) return norm_and_linear(pass, x, linear);
  return column_linear(pass, norm(pass, x, pass.sizes.region_tokens, "attention.latent norm"),
                       linear);
}

/// Rotates positions and lays queries, keys and values out contiguously.
std::vector<Tensor> rotate(Pass& pass, Tensor query, Tensor key_value) {
  const Widths widths = widths_of(pass.run);
  const int64_t query_bytes = query.bytes(), key_value_bytes = key_value.bytes();
  const Storage rotated =
      pass.memory.allocate(pass.sizes.rows(widths.positions), "temporary/attention.positions");
  std::vector<Tensor> heads{
      Tensor{pass.memory.allocate(query_bytes, "saved/attention.query")},
      Tensor{pass.memory.allocate(query_bytes, "saved/attention.key")},
      Tensor{pass.memory.allocate(pass.sizes.rows(widths.value), "saved/attention.value")}};
  pass.graph->record(
      {},
      [pass, query_bytes, key_value_bytes, from_query = heads[0].gradient,
       from_key = heads[1].gradient, from_value = heads[2].gradient, to = query.gradient,
       to_key_value = key_value.gradient]() -> Gradients {
        Storage incoming = take(from_query);
        Storage query_gradient = pass.memory.allocate(query_bytes, "gradient/attention.query");
        incoming.reset();
        const Storage key = take(from_key), value = take(from_value);
        return {{to, std::move(query_gradient)},
                {to_key_value, pass.memory.allocate(key_value_bytes, "gradient/attention.kv")}};
      });
  return heads;
}

std::vector<Tensor> up_project(Pass& pass, const Latents& latents) {
  const AttentionSize& size = pass.run.model.attention;
  const Widths widths = widths_of(pass.run);
  const Tensor key_value_latent = without_positions(pass, latents.key_value);
  Tensor query =
      size.q_lora_rank > 0
          ? normed_linear(pass, latents.query,
                          {.name = "attention.query", .in = size.q_lora_rank, .out = widths.query})
          : column_linear(
                pass, latents.query,
                {.name = "attention.query", .in = pass.run.model.hidden, .out = widths.query});
  Tensor key_value = normed_linear(
      pass, key_value_latent,
      {.name = "attention.key value", .in = size.kv_lora_rank, .out = widths.key_value});
  return rotate(pass, std::move(query), std::move(key_value));
}

Heads heads_of(const Pass& pass, const std::vector<Tensor>& tensors) {
  Heads heads;
  for (const Tensor& tensor : tensors) {
    heads.storages.push_back(tensor.storage);
    heads.gradients.emplace_back(tensor.gradient, tensor.bytes());
  }
  heads.bytes = {.query = tensors[0].bytes(),
                 .key = tensors[1].bytes(),
                 .value = tensors[2].bytes(),
                 .context = tensors[2].bytes()};
  heads.num_heads = pass.run.model.attention.num_heads / pass.run.parallel.tensor;
  heads.key_tokens = pass.sizes.sequence;
  return heads;
}

}  // namespace

Tensor latent_attention_half(Pass& pass, const Tensor& x) {
  const Run& run = pass.run;
  OffloadBracket norm_bracket(pass, "attn_norm");
  OutputDiscarding normed(recomputes(pass, "layernorm"), pass, {x.storage}, [x](Pass& region) {
    return std::vector{norm(region, x, region.sizes.region_tokens, "attention.norm")};
  });
  norm_bracket.close(pass);
  OffloadBracket qkv_bracket(pass, "qkv_linear");
  const Latents latents = down_project(pass, normed.outputs().front());
  OutputDiscarding projected(recomputes(pass, "mla_up_proj"), pass,
                             {latents.query.storage, latents.key_value.storage},
                             [latents](Pass& region) { return up_project(region, latents); });
  qkv_bracket.close(pass);
  qkv_bracket.commit(pass);
  const Tensor context =
      attend(pass, heads_of(pass, projected.outputs()), recomputes(pass, "core_attn"));
  projected.discard(pass);
  OffloadBracket projection_bracket(pass, "attn_proj");
  const Tensor out =
      row_linear(pass, context,
                 {.name = "attention.projection",
                  .in = widths_of(run).value,
                  .out = run.model.hidden,
                  .keeps_original = run.numerics.gemms != LowPrecision::kFp8Delayed});
  projection_bracket.close(pass);
  projection_bracket.commit(pass);
  normed.discard(pass);
  Tensor sum = bias_dropout_add(pass, out, x);
  norm_bracket.commit(pass);
  return sum;
}

}  // namespace refrain::mcore::memory
