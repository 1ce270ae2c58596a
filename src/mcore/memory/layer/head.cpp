#include "mcore/memory/layer/head.h"

#include <utility>
#include <vector>

#include "mcore/memory/ops/linear.h"

namespace refrain::mcore::memory {
namespace {

int64_t vocab_rows(const Pass& pass) { return padded_vocab(pass.run) / pass.tensor(); }

bool has_output_bias(const Run& run) { return run.model.family == Family::kBert; }

/// Puts the gradient of the output layer's weight off to the end of the step, for as many
/// micro-batches as the run says. False: it is computed now.
bool defer(const Pass& pass, Storage& gradient, const Storage& input) {
  if (pass.deferred == nullptr) return false;
  const auto limit = static_cast<size_t>(pass.run.place.deferred_head_gradients);
  if (pass.deferred->size() >= limit) return false;
  pass.deferred->push_back({std::move(gradient), input, *pass.chunk_input});
  return true;
}

Tensor output_layer(Pass& pass, const Tensor& normed) {
  if (pass.sequence_split()) pass.caches.global_buffer(pass.sizes.gathered);
  pass.caches.cublas(Thread::kForward);
  const int64_t bytes = pass.sizes.rows(vocab_rows(pass));
  Tensor logits{pass.memory.allocate(bytes, "head/logits")};
  if (has_output_bias(pass.run)) logits.storage = pass.memory.allocate(bytes, "head/logits");
  pass.graph->record(
      {},
      [pass, input = normed.storage, from = logits.gradient,
       to = normed.gradient]() mutable -> Gradients {
        pass.memory.mark("loss head, backward");
        Storage incoming = take(from);
        pass.caches.cublas(Thread::kBackward);
        const Storage gradient = pass.memory.allocate(pass.sizes.gathered, "gradient/head input");
        Storage part = pass.sequence_split()
                           ? pass.memory.allocate(pass.sizes.hidden, "gradient/head input")
                           : gradient;
        if (!defer(pass, incoming, input)) {
          pass.caches.weight_gradients({vocab_rows(pass), pass.run.model.hidden});
          incoming.reset();
        }
        return {{to, std::move(part)}};
      });
  return logits;
}

/// The small tensors of vocab-parallel cross entropy (core/tensor_parallel/cross_entropy.py):
/// target mask and masked targets stay, the rest is gone when the loss is there.
std::vector<Storage> target_tensors(Pass& pass) {
  const int64_t tokens = pass.sizes.tokens;
  Memory& memory = pass.memory;
  const Storage maxima = memory.allocate(tokens * 4, "head/small tensors");
  memory.touch(tokens * 8, "head/small tensors");
  std::vector<Storage> kept{memory.allocate(tokens, "head/target mask"),
                            memory.allocate(tokens * 8, "head/masked targets")};
  Storage positions = memory.allocate(tokens * 8, "head/small tensors");
  Storage picked = memory.allocate(tokens * 4, "head/small tensors");
  const Storage predicted = memory.allocate(tokens * 4, "head/small tensors");
  picked.reset();
  positions.reset();
  std::vector<Storage> sums;  // of exponentials, their logarithms, the loss
  for (int i = 0; i < 3; ++i) sums.push_back(memory.allocate(tokens * 4, "head/small tensors"));
  return kept;
}

/// TransformerEngine's cross entropy writes the gradient over the logits in forward.
Tensor fused_loss(Pass& pass, Tensor logits) {
  const int64_t tokens = pass.sizes.tokens;
  std::vector<Storage> kept{pass.memory.allocate(tokens * 4, "head/small tensors"),
                            pass.memory.allocate(tokens * 12, "head/small tensors")};
  Tensor loss{pass.memory.allocate(tokens * 4, "head/loss")};
  pass.graph->record(
      std::move(kept),
      [gradient = std::move(logits.storage), to = logits.gradient]() mutable -> Gradients {
        return {{to, std::move(gradient)}};
      });
  return loss;
}

/// Cross entropy over float32 logits, which become the softmax in place and in backward its
/// gradient, cast to the logits' type while it still lives.
Tensor vocab_parallel_loss(Pass& pass, Tensor logits) {
  Memory& memory = pass.memory;
  const int64_t entries = pass.sizes.tokens * vocab_rows(pass);
  Storage softmax = memory.allocate(entries * 4, "head/softmax");
  if (pass.run.place.head_loss == HeadLoss::kNative) {  // exponentials go to a tensor of their own
    softmax = memory.allocate(entries * 4, "head/softmax");
  }
  std::vector<Storage> kept = target_tensors(pass);
  kept.push_back(std::move(softmax));
  logits.storage.reset();
  Tensor loss{memory.allocate(pass.sizes.tokens * 4, "head/loss")};
  pass.graph->record(
      std::move(kept),
      [pass, bytes = entries * pass.sizes.element, to = logits.gradient]() -> Gradients {
        pass.memory.mark("loss head, backward");
        return {{to, pass.memory.allocate(bytes, "head/logits gradient")}};
      });
  return loss;
}

}  // namespace

Tensor final_norm(Pass& pass, const Tensor& x) {
  return norm(pass, x, pass.sizes.region_tokens, "final norm");
}

Tensor head(Pass& pass, const Tensor& normed) {
  pass.memory.mark("loss head, forward");
  Tensor logits = output_layer(pass, normed);
  const Storage labels = pass.memory.allocate(pass.sizes.tokens * 8, "head/labels");
  if (pass.run.place.head_loss == HeadLoss::kTransformerEngine) {
    return fused_loss(pass, std::move(logits));
  }
  return vocab_parallel_loss(pass, std::move(logits));
}

Tensor masked_language_transform(Pass& pass, const Tensor& x) {
  Memory& memory = pass.memory;
  std::vector<Storage> kept{x.storage};
  for (const char* name : {"head/transform.linear", "head/transform.activation"}) {
    kept.push_back(memory.allocate(pass.sizes.gathered, name));
  }
  Tensor out{memory.allocate(pass.sizes.gathered, "head/transform.norm")};
  for (int i = 0; i < (pass.run.model.rms_norm ? 1 : 2); ++i) {
    kept.push_back(memory.allocate(pass.sizes.region_tokens * 4, "head/transform.statistics"));
  }
  pass.graph->record(std::move(kept), [pass, from = out.gradient, to = x.gradient]() -> Gradients {
    Storage gradient = take(from);
    for (int op = 0; op < 3; ++op) {
      gradient = pass.memory.allocate(pass.sizes.gathered, "gradient/head transform");
    }
    return {{to, std::move(gradient)}};
  });
  return out;
}

}  // namespace refrain::mcore::memory
