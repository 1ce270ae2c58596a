#include "mcore/memory/layer/embedding.h"

#include <utility>
#include <vector>

namespace refrain::mcore::memory {

Tensor embedding(Pass& pass) {
  const Run& run = pass.run;
  Memory& memory = pass.memory;
  const auto next = [&](Storage& storage, int64_t bytes) {
    storage = memory.allocate(bytes, "temporary/embedding");
  };
  std::vector<Storage> kept;
  if (pass.tensor() > 1) {  // ids outside of this rank's rows are masked
    kept.push_back(memory.allocate(pass.sizes.tokens * 8, "saved/embedding.masked ids"));
    kept.push_back(memory.allocate(pass.sizes.tokens, "saved/embedding.mask"));
  }
  Storage hidden = memory.allocate(pass.sizes.gathered, "temporary/embedding");
  if (run.model.positions == Model::Positions::kLearned) {
    const Storage positions = memory.allocate(pass.sizes.gathered, "temporary/embedding");
    next(hidden, pass.sizes.gathered);
  }
  next(hidden, pass.sizes.gathered);
  if (pass.sequence_split()) next(hidden, pass.sizes.hidden);
  if (run.model.hidden_dropout > 0) {
    Storage dropped = memory.allocate(pass.sizes.hidden, "saved/residual stream");
    kept.push_back(
        memory.allocate(pass.sizes.hidden / pass.sizes.element, "saved/embedding.dropout mask"));
    hidden = std::move(dropped);
  }
  Tensor out{std::move(hidden)};
  const int64_t weight_bytes =
      padded_vocab(run) / pass.tensor() * run.model.hidden * pass.sizes.element;
  pass.graph->record(std::move(kept), [pass, weight_bytes, from = out.gradient]() -> Gradients {
    const Storage incoming = take(from);
    pass.memory.touch(weight_bytes, "gradient/embedding");
    return {};
  });
  return out;
}

}  // namespace refrain::mcore::memory
