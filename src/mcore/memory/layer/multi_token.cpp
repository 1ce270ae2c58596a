#include <utility>
#include <vector>

#include "mcore/memory/layer/embedding.h"
#include "mcore/memory/layer/head.h"
#include "mcore/memory/layer/layer.h"
#include "mcore/memory/ops/linear.h"
#include "mcore/memory/ops/parts.h"
#include "mcore/memory/ops/regions.h"

namespace refrain::mcore::memory {
namespace {

/// The gathered columns of the projection, cut to this rank's part of the sequence again.
Tensor gathered_and_split(Pass& pass, Tensor columns) {
  if (pass.tensor() == 1) return columns;
  const int64_t columns_bytes = columns.bytes();
  columns.storage = pass.memory.allocate(pass.sizes.gathered, "temporary/multi-token");
  Tensor out{pass.sequence_split()
                 ? pass.memory.allocate(pass.sizes.hidden, "saved/residual stream")
                 : columns.storage};
  pass.graph->record(
      {}, [pass, columns_bytes, from = out.gradient, to = columns.gradient]() -> Gradients {
        const Storage incoming = take(from);
        const Storage whole = pass.memory.allocate(pass.sizes.gathered, "gradient/multi-token");
        return {{to, pass.memory.allocate(columns_bytes, "gradient/multi-token")}};
      });
  return out;
}

/// One depth: the hidden state that its head reads.
Tensor deeper(Pass& pass, const Tensor& hidden, const LayerKind& kind) {
  const Tensor tokens = embedding(pass);
  const int64_t rows = pass.sizes.region_tokens;
  const Tensor both = joined(pass,
                             {norm(pass, tokens, rows, "multi-token.embedding norm"),
                              norm(pass, hidden, rows, "multi-token.hidden norm")},
                             Axis::kFeatures);
  const int64_t width = pass.run.model.hidden;
  const Tensor joint = gathered_and_split(
      pass, column_linear(
                pass, both,
                {.name = "multi-token.projection", .in = 2 * width, .out = width / pass.tensor()}));
  return final_norm(pass, layer(pass, joint, kind));
}

}  // namespace

Tensor multi_token_prediction(Pass& pass, const Tensor& normed, const LayerKind& kind) {
  pass.memory.mark("multi-token prediction, forward");
  // Under full recompute a depth is a region of its own, with uniform groups only.
  const bool whole = pass.run.recompute.method == Recompute::Method::kUniform;
  std::vector<Tensor> depths{normed};
  for (int64_t depth = 0; depth < pass.run.model.mtp_layers; ++depth) {
    depths.push_back(checkpoint_if(whole, pass, [last = depths.back(), kind](Pass& region) {
      return deeper(region, last, kind);
    }));
  }
  // The heads read views of one tensor that holds all depths.
  const std::vector<Tensor> parts =
      views(pass, joined(pass, depths, Axis::kRows), static_cast<int64_t>(depths.size()));
  std::vector<Storage> losses;
  for (size_t depth = 1; depth < parts.size(); ++depth) {
    losses.push_back(head(pass, parts[depth]).storage);
  }
  pass.graph->record(std::move(losses), []() -> Gradients { return {}; });
  return parts.front();
}

}  // namespace refrain::mcore::memory
