#include "mcore/memory/ops/pointwise.h"

namespace refrain::mcore::memory {

Tensor activation(Pass& pass, const Tensor& x, bool gated) {
  Tensor out{pass.memory.allocate(x.bytes() / (gated ? 2 : 1), "saved/mlp.activation")};
  pass.graph->record(
      {x.storage}, [pass, bytes = x.bytes(), from = out.gradient, to = x.gradient]() -> Gradients {
        Storage incoming = take(from);
        Storage gradient = pass.memory.allocate(bytes, "gradient/activation");
        incoming.reset();
        return {{to, std::move(gradient)}};
      });
  return out;
}

Tensor bias_dropout_add(Pass& pass, const Tensor& x, const Tensor& residual) {
  const bool drops = pass.run.model.hidden_dropout > 0;
  Tensor out{pass.memory.allocate(pass.sizes.hidden, "saved/residual stream")};
  Storage mask =
      drops ? pass.memory.allocate(pass.sizes.hidden / pass.sizes.element, "saved/dropout mask")
            : nullptr;
  pass.graph->record({std::move(mask)},
                     [pass, drops, from = out.gradient, branch = x.gradient,
                      stream = residual.gradient]() -> Gradients {
                       Storage incoming = take(from);
                       Storage through =
                           drops ? pass.memory.allocate(from->bytes, "gradient/dropout") : incoming;
                       return {{branch, std::move(through)}, {stream, std::move(incoming)}};
                     });
  return out;
}

Tensor add(Pass& pass, const Tensor& a, const Tensor& b) {
  Tensor out{pass.memory.allocate(a.bytes(), "temporary/sum")};
  pass.graph->record({},
                     [from = out.gradient, left = a.gradient, right = b.gradient]() -> Gradients {
                       Storage incoming = take(from);
                       return {{left, incoming}, {right, std::move(incoming)}};
                     });
  return out;
}

}  // namespace refrain::mcore::memory
