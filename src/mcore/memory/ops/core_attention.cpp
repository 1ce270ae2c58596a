#include "mcore/memory/ops/core_attention.h"

#include <utility>

#include "mcore/memory/ops/offload.h"
#include "mcore/memory/ops/regions.h"

namespace refrain::mcore::memory {
namespace {

int64_t num_scores(const Pass& pass, const Heads& heads) {
  return heads.num_heads * pass.run.batch.micro * pass.sizes.sequence * heads.key_tokens;
}

/// What unfused attention keeps of the scores.
struct Probabilities {
  Storage softmax, dropped, dropout_mask;
  std::vector<Storage> others;  // repeated keys and values, the padding mask
};

Probabilities unfused_probabilities(Pass& pass, const Heads& heads) {
  const Run& run = pass.run;
  Memory& memory = pass.memory;
  const int64_t scores = num_scores(pass, heads), score_bytes = scores * pass.sizes.element;
  Probabilities kept;
  // baddbmm wants an input of the product's size: the local spec takes it from the global buffer.
  Storage input;
  if (run.place.transformer_engine) {
    input = memory.allocate(score_bytes, "temporary/attention scores");
  } else {
    pass.caches.global_buffer(score_bytes);
  }
  if (heads.repeats_keys) {
    kept.others.push_back(memory.allocate(heads.bytes.query, "saved/attention.repeated key"));
    kept.others.push_back(memory.allocate(heads.bytes.query, "saved/attention.repeated value"));
  }
  pass.caches.cublas(Thread::kForward);
  Storage product = memory.allocate(score_bytes, "temporary/attention scores");
  input.reset();
  kept.softmax = memory.allocate(scores * (run.numerics.softmax_fp32 ? 4 : pass.sizes.element),
                                 "saved/attention.softmax");
  product.reset();
  if (heads.padding_mask && run.place.transformer_engine && !run.place.lts) {
    kept.others.push_back(memory.allocate(run.batch.micro * pass.sizes.sequence * heads.key_tokens,
                                          "saved/attention.padding mask"));
  }
  if (run.model.attention_dropout > 0) {
    kept.dropped = memory.allocate(score_bytes, "saved/attention.dropped probabilities");
    kept.dropout_mask = memory.allocate(scores, "saved/attention.dropout mask");
  }
  return kept;
}

Gradients projection_gradients(const Pass& pass, const Heads& heads) {
  Gradients gradients;
  for (const auto& [slot, bytes] : heads.gradients) {
    gradients.emplace_back(slot, pass.memory.allocate(bytes, "gradient/attention.qkv"));
  }
  return gradients;
}

/// From the context's gradient to those of the projections.
Gradients unfused_backward(const Pass& pass, const Heads& heads, Probabilities& kept) {
  Memory& memory = pass.memory;
  const int64_t score_bytes = num_scores(pass, heads) * pass.sizes.element;
  pass.caches.cublas(Thread::kBackward);
  Storage scores = memory.allocate(score_bytes, "gradient/attention scores");
  const Storage value = memory.allocate(heads.bytes.context, "gradient/attention.value");
  kept.dropped.reset();
  if (kept.dropout_mask != nullptr) {
    scores = memory.allocate(score_bytes, "gradient/attention scores");
    kept.dropout_mask.reset();
  }
  scores = memory.allocate(score_bytes, "gradient/attention scores");
  kept.softmax.reset();
  const Storage query = memory.allocate(heads.bytes.query, "gradient/attention.query");
  const Storage key = memory.allocate(heads.bytes.key, "gradient/attention.key");
  scores.reset();
  return projection_gradients(pass, heads);
}

Tensor unfused_attention(Pass& pass, Heads heads) {
  Probabilities kept = unfused_probabilities(pass, heads);
  // The context comes out head by head and is copied token by token.
  Storage by_head = pass.memory.allocate(heads.bytes.context, "temporary/attention.context");
  Tensor context{pass.memory.allocate(heads.bytes.context, "saved/attention.context")};
  by_head.reset();
  for (const Storage& storage : {kept.softmax, kept.dropped, kept.dropout_mask}) {
    pass.graph->offer(storage);
  }
  // Without dropout the product with the values saves what the softmax did.
  if (kept.dropped == nullptr) pass.graph->offer(kept.softmax);
  std::vector<Storage> saved = std::move(heads.storages);
  pass.graph->record(std::move(saved),
                     [pass, heads = std::move(heads), kept = std::move(kept),
                      from = context.gradient]() mutable -> Gradients {
                       const Storage incoming = take(from);
                       const Storage copied =
                           pass.memory.allocate(heads.bytes.context, "gradient/attention.context");
                       return unfused_backward(pass, heads, kept);
                     });
  return context;
}

Tensor fused_attention(Pass& pass, Heads heads) {
  Memory& memory = pass.memory;
  const bool flash = pass.run.place.attention == AttentionKernel::kFlash;
  std::vector<Storage> saved = std::move(heads.storages);
  // FlashAttention's output is [batch, sequence]: it is copied where that differs from ours.
  if (flash && pass.run.batch.micro > 1) {
    saved.push_back(memory.allocate(heads.bytes.context, "saved/attention.context by sequence"));
  }
  saved.push_back(memory.allocate(heads.num_heads * pass.run.batch.micro * pass.sizes.sequence * 4,
                                  "saved/attention.lse"));
  saved.push_back(memory.allocate(16, "saved/attention.rng state"));
  Tensor context{memory.allocate(heads.bytes.context, "saved/attention.context")};
  saved.push_back(context.storage);
  pass.graph->record(
      std::move(saved),
      [pass, flash, heads = std::move(heads), from = context.gradient]() -> Gradients {
        const Storage incoming = take(from);
        const Storage by_sequence =
            flash ? pass.memory.allocate(heads.bytes.context, "gradient/attention.context")
                  : nullptr;
        return projection_gradients(pass, heads);
      });
  return context;
}

}  // namespace

Tensor attend(Pass& pass, Heads heads, bool recomputed) {
  if (recomputed) {
    return checkpoint(
        pass, [heads = std::move(heads)](Pass& region) { return core_attention(region, heads); });
  }
  OffloadBracket bracket(pass, "core_attn");
  Tensor context = core_attention(pass, std::move(heads));
  bracket.close(pass);
  bracket.commit(pass);
  return context;
}

Tensor core_attention(Pass& pass, Heads heads) {
  if (pass.run.place.attention == AttentionKernel::kUnfused) {
    return unfused_attention(pass, std::move(heads));
  }
  return fused_attention(pass, std::move(heads));
}

}  // namespace refrain::mcore::memory
