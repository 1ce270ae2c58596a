#include <utility>

#include "mcore/memory/layer/halves.h"
#include "mcore/memory/ops/linear.h"
#include "mcore/memory/ops/pointwise.h"
#include "mcore/memory/ops/regions.h"

namespace refrain::mcore::memory {
namespace {

Linear first_linear(const Run& run, std::string_view name, int64_t width) {
  return {.name = name,
          .in = run.model.hidden,
          .out = width / run.parallel.tensor * (run.model.gated ? 2 : 1)};
}

Linear second_linear(const Run& run, std::string_view name, int64_t width) {
  return {.name = name, .in = width / run.parallel.tensor, .out = run.model.hidden};
}

/// From the first projection to the MLP's output.
Tensor activate_and_project(Pass& pass, const Tensor& first) {
  const Run& run = pass.run;
  return row_linear(pass, activation(pass, first, run.model.gated),
                    second_linear(run, "mlp.fc2", run.model.ffn));
}

}  // namespace

Tensor dense_half(Pass& pass, const Tensor& x) {
  const Run& run = pass.run;
  Linear fc1 = first_linear(run, "mlp.fc1", run.model.ffn);
  if (run.place.transformer_engine) {
    // The norm is part of fc1, and so of the region.
    const Tensor out = checkpoint_if(recomputes(pass, "mlp"), pass, [x, fc1](Pass& region) {
      return activate_and_project(region, norm_and_linear(region, x, fc1));
    });
    return bias_dropout_add(pass, out, x);
  }
  OutputDiscarding normed(recomputes(pass, "layernorm"), pass, {x.storage}, [x](Pass& region) {
    return std::vector{norm(region, x, region.sizes.region_tokens, "mlp.norm")};
  });
  const Tensor out = checkpoint_if(
      recomputes(pass, "mlp"), pass, [input = normed.outputs().front(), fc1](Pass& region) {
        return activate_and_project(region, column_linear(region, input, fc1));
      });
  normed.discard(pass);
  return bias_dropout_add(pass, out, x);
}

Tensor shared_experts(Pass& pass, const Tensor& normed) {
  const Run& run = pass.run;
  Linear fc1 = first_linear(run, "shared experts.fc1", run.model.experts.shared_ffn);
  fc1.keeps_original = recomputes(pass, "layernorm");
  return checkpoint_if(recomputes(pass, "shared_experts"), pass, [normed, fc1](Pass& region) {
    const Run& facts = region.run;
    const Tensor first = column_linear(region, normed, fc1);
    return row_linear(region, activation(region, first, facts.model.gated),
                      second_linear(facts, "shared experts.fc2", facts.model.experts.shared_ffn));
  });
}

}  // namespace refrain::mcore::memory
