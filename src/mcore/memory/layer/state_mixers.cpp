// Mixers that carry a state along the sequence: Mamba-2 and the gated delta net.
#include <utility>
#include <vector>

#include "mcore/memory/layer/halves.h"
#include "mcore/memory/ops/linear.h"
#include "mcore/memory/ops/pointwise.h"
#include "mcore/memory/ops/regions.h"

namespace refrain::mcore::memory {
namespace {

/// Allocates the gradient of a mixer's projection, with temporaries of its backward beside it.
Storage mixer_backward(const Pass& pass, Storage incoming, int64_t bytes, int64_t temporaries) {
  const Storage scratch = pass.memory.allocate(temporaries, "temporary/mixer backward");
  Storage gradient = pass.memory.allocate(bytes, "gradient/mixer");
  incoming.reset();
  return gradient;
}

/// The gated RMSNorm behind a mixer: keeps its input, and one statistic a row.
Tensor mixer_norm(Pass& pass, const Tensor& x) {
  Storage statistics =
      pass.memory.allocate(pass.sizes.tokens * 4, "saved/statistics of mixer norm");
  Tensor out{pass.memory.allocate(x.bytes(), "saved/mixer.norm")};
  pass.graph->record(
      {x.storage, std::move(statistics)},
      [pass, bytes = x.bytes(), from = out.gradient, to = x.gradient]() -> Gradients {
        return {{to, mixer_backward(pass, take(from), bytes, 0)}};
      });
  return out;
}

/// Widths of one tensor rank of a Mamba-2 mixer.
struct MambaWidths {
  int64_t inner = 0, heads = 0, states = 0, projection = 0;
};

MambaWidths mamba_widths(const Run& run) {
  const StateSize& size = run.model.state;
  MambaWidths widths;
  widths.heads = size.num_heads / run.parallel.tensor;
  widths.inner = widths.heads * size.head_dim;
  widths.states = size.num_groups * size.state_dim / run.parallel.tensor;
  widths.projection = 2 * widths.inner + 2 * widths.states + widths.heads;
  return widths;
}

/// The chunk states of the scan in float32 (mamba_ssm, ops/triton/ssd_combined.py).
int64_t chunk_state_bytes(const Pass& pass, const MambaWidths& widths) {
  constexpr int64_t kChunk = 128;
  const int64_t chunks = (pass.sizes.tokens + kChunk - 1) / kChunk;
  return chunks * widths.inner * pass.run.model.state.state_dim * 4;
}

/// Convolution and scan as one function that keeps the projection and the scan's output before its
/// gate (mamba_split_conv1d_scan_combined).
Tensor mamba_scan(Pass& pass, Tensor projection) {
  const MambaWidths widths = mamba_widths(pass.run);
  if (pass.run.batch.micro > 1) {  // a copy with the batch first
    projection.storage = pass.memory.allocate(projection.bytes(), "saved/mamba.projection");
  }
  Storage convolved =
      pass.memory.allocate(pass.sizes.rows(widths.inner + 2 * widths.states), "temporary/mamba");
  Storage states = pass.memory.allocate(chunk_state_bytes(pass, widths), "temporary/mamba.states");
  Tensor out{pass.memory.allocate(pass.sizes.rows(widths.inner), "saved/mamba.output")};
  Storage ungated =
      pass.memory.allocate(pass.sizes.rows(widths.inner), "saved/mamba.output before gate");
  convolved.reset();
  states.reset();
  if (pass.run.batch.micro > 1) {
    out.storage = pass.memory.allocate(out.bytes(), "saved/mamba.output");
  }
  pass.graph->record({projection.storage, std::move(ungated)},
                     [pass, widths, bytes = projection.bytes(), from = out.gradient,
                      to = projection.gradient]() -> Gradients {
                       const int64_t again = pass.sizes.rows(2 * widths.inner + 4 * widths.states);
                       return {{to, mixer_backward(pass, take(from), bytes,
                                                   again + 2 * chunk_state_bytes(pass, widths))}};
                     });
  return out;
}

/// Widths of one tensor rank of a gated delta net.
struct DeltaWidths {
  int64_t keys = 0, values = 0, value_heads = 0;

  int64_t convolved() const { return 2 * keys + values; }
  int64_t projection() const { return convolved() + values + 2 * value_heads; }
};

DeltaWidths delta_widths(const Run& run) {
  const StateSize& size = run.model.state;
  return {.keys = size.num_key_heads * size.key_dim / run.parallel.tensor,
          .values = size.num_value_heads * size.value_dim / run.parallel.tensor,
          .value_heads = size.num_value_heads / run.parallel.tensor};
}

/// Convolution, normalised queries and keys repeated to the value heads, gates, and the chunked
/// rule, which keeps what it reads and the solution of each chunk's triangular system
/// (core/ssm/gated_delta_net/gdn.py; flash-linear-attention, ops/gated_delta_rule/chunk.py).
Tensor delta_rule(Pass& pass, Tensor projection) {
  constexpr int64_t kChunk = 64;
  const DeltaWidths widths = delta_widths(pass.run);
  const int64_t repeated = pass.sizes.rows(widths.value_heads * pass.run.model.state.key_dim);
  const int64_t gate_bytes = pass.sizes.tokens * widths.value_heads * 4;
  Memory& memory = pass.memory;
  std::vector<Storage> kept{
      projection.storage,
      memory.allocate(pass.sizes.rows(widths.convolved()), "saved/delta net.convolved"),
      memory.allocate(repeated, "saved/delta net.query"),
      memory.allocate(repeated, "saved/delta net.key"),
      memory.allocate(pass.sizes.rows(widths.values), "saved/delta net.value"),
      memory.allocate(gate_bytes, "saved/delta net.decay"),
      memory.allocate(gate_bytes, "saved/delta net.summed decay"),
      memory.allocate(pass.sizes.rows(widths.value_heads), "saved/delta net.beta"),
      memory.allocate(pass.sizes.rows(widths.value_heads * kChunk), "saved/delta net.chunks")};
  Tensor out{memory.allocate(pass.sizes.rows(widths.values), "saved/delta net.output")};
  const int64_t temporaries = 2 * repeated + pass.sizes.rows(widths.convolved() + widths.values);
  pass.graph->record(std::move(kept),
                     [pass, temporaries, bytes = projection.bytes(), from = out.gradient,
                      to = projection.gradient]() -> Gradients {
                       return {{to, mixer_backward(pass, take(from), bytes, temporaries)}};
                     });
  return out;
}

}  // namespace

Tensor mamba_half(Pass& pass, const Tensor& x) {
  const MambaWidths widths = mamba_widths(pass.run);
  const Linear in{
      .name = "mamba.projection", .in = pass.run.model.hidden, .out = widths.projection};
  const Tensor normed = mixer_norm(pass, mamba_scan(pass, norm_and_linear(pass, x, in)));
  return bias_dropout_add(
      pass,
      row_linear(pass, normed,
                 {.name = "mamba.output", .in = widths.inner, .out = pass.run.model.hidden}),
      x);
}

Tensor linear_attention_half(Pass& pass, const Tensor& x) {
  const DeltaWidths widths = delta_widths(pass.run);
  const Linear in{
      .name = "delta net.projection", .in = pass.run.model.hidden, .out = widths.projection()};
  const Tensor mixed = delta_rule(pass, norm_and_linear(pass, x, in));
  OutputDiscarding normed(recomputes(pass, "gdn_norm_out"), pass, {mixed.storage},
                          [mixed](Pass& region) { return std::vector{mixer_norm(region, mixed)}; });
  const Tensor out =
      row_linear(pass, normed.outputs().front(),
                 {.name = "delta net.output", .in = widths.values, .out = pass.run.model.hidden});
  normed.discard(pass);
  return bias_dropout_add(pass, out, x);
}

}  // namespace refrain::mcore::memory
