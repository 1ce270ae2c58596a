// The tensors of a mixture of experts, from the router to the combined output
// (core/transformer/moe/: router.py, token_dispatcher.py, experts.py, moe_utils.py).
#include <string_view>
#include <utility>
#include <vector>

#include "mcore/memory/layer/halves.h"
#include "mcore/memory/ops/linear.h"
#include "mcore/memory/ops/offload.h"
#include "mcore/memory/ops/parts.h"
#include "mcore/memory/ops/pointwise.h"
#include "mcore/memory/ops/regions.h"

namespace refrain::mcore::memory {
namespace {

/// How many rows of what width travel. A row is one token for one expert.
struct Traffic {
  int64_t width = 0;         // features an expert reads
  int64_t group_tokens = 0;  // tokens of the group whose ranks exchange tokens
  int64_t rows = 0;          // of this rank's experts
  int64_t sent = 0;          // rows of this rank's tokens
  int64_t element = 2;

  int64_t bytes(int64_t num_rows) const { return num_rows * width * element; }
};

bool gathers(const Run& run) { return run.model.experts.dispatcher == "allgather"; }
bool exchanges(const Run& run) { return run.parallel.expert > 1 || run.parallel.expert_tensor > 1; }
int64_t local_experts(const Run& run) {
  return run.model.experts.num_experts / run.parallel.expert;
}

Traffic traffic_of(const Pass& pass) {
  const Run& run = pass.run;
  const Parallel& parallel = run.parallel;
  const ExpertSize& experts = run.model.experts;
  Traffic traffic;
  traffic.width = experts.latent_dim > 0 ? experts.latent_dim : run.model.hidden;
  traffic.element = pass.sizes.element;
  const int64_t tensor_tokens =
      parallel.expert_tensor == parallel.tensor
          ? pass.sizes.region_tokens * (pass.sequence_split() ? parallel.tensor : 1)
          : pass.sizes.region_tokens * parallel.expert_tensor;
  traffic.group_tokens = tensor_tokens * parallel.expert;
  traffic.sent = pass.sizes.region_tokens * experts.topk;
  const int64_t even = traffic.group_tokens * experts.topk / parallel.expert;
  traffic.rows = static_cast<int64_t>(static_cast<double>(even) * pass.expert_load);
  return traffic;
}

/// Logits, probabilities and maps of tokens to experts.
void route(Pass& pass, const Tensor& normed) {
  const Run& run = pass.run;
  if (run.place.transformer_engine || !run.place.old_recording) pass.caches.te_gemm();
  const int64_t entries = pass.sizes.region_tokens * run.model.experts.num_experts;
  std::vector<Storage> kept;
  for (int i = 0; i < 3; ++i) kept.push_back(pass.memory.allocate(entries * 4, "saved/router"));
  kept.push_back(pass.memory.allocate(entries, "saved/router"));
  kept.push_back(normed.storage);
  pass.graph->record(std::move(kept), [pass, to = normed.gradient]() -> Gradients {
    return {{to, pass.memory.allocate(pass.sizes.hidden, "gradient/router")}};
  });
}

/// A tensor that replaces the one before it in a chain of exchanges.
void replace(Pass& pass, Storage& storage, int64_t bytes) {
  storage = pass.memory.allocate(bytes, "saved/experts.input");
}

/// The rows of this rank's experts, sorted by expert.
Tensor dispatch(Pass& pass, const Tensor& tokens, const Traffic& traffic) {
  const Run& run = pass.run;
  Memory& memory = pass.memory;
  std::vector<Storage> indices;
  Storage rows;
  if (gathers(run)) {
    if (run.parallel.tensor * run.parallel.expert > 1) {
      pass.caches.global_buffer(traffic.bytes(traffic.group_tokens));
    }
    replace(pass, rows, traffic.bytes(traffic.rows));
    indices = {memory.allocate(traffic.rows * 8, "saved/experts.indices"),
               memory.allocate(traffic.rows * 4, "saved/experts.indices")};
  } else {
    replace(pass, rows, traffic.bytes(traffic.sent));
    indices = {memory.allocate(traffic.sent * 8, "saved/experts.indices"),
               memory.allocate(traffic.sent * 8, "saved/experts.indices")};
    if (run.parallel.expert > 1) {
      replace(pass, rows, traffic.bytes(traffic.rows / run.parallel.expert_tensor));
    }
    if (run.parallel.expert_tensor > 1) replace(pass, rows, traffic.bytes(traffic.rows));
    if (local_experts(run) > 1 && exchanges(run)) replace(pass, rows, traffic.bytes(traffic.rows));
  }
  Tensor out{std::move(rows)};
  const int64_t exchanged = traffic.bytes(gathers(run) ? traffic.group_tokens : traffic.rows);
  pass.graph->record(std::move(indices),
                     [pass, exchanged, bytes = tokens.bytes(), from = out.gradient,
                      to = tokens.gradient]() -> Gradients {
                       Storage incoming = take(from);
                       const Storage gathered =
                           pass.memory.allocate(exchanged, "gradient/experts.exchange");
                       incoming.reset();
                       return {{to, pass.memory.allocate(bytes, "gradient/experts.input")}};
                     });
  return out;
}

/// One linear of every local expert.
Tensor expert_linear(Pass& pass, const Tensor& x, const Linear& linear, int64_t rows) {
  const bool copies = quantizes(pass.run) && !linear.keeps_original;
  Tensor out{pass.memory.allocate(rows * linear.out * pass.sizes.element, "saved/experts.fc")};
  Storage kept =
      copies ? pass.memory.allocate(low_precision_bytes(pass.run.numerics.gemms, rows * linear.in),
                                    "saved/low-precision inputs")
             : x.storage;
  pass.graph->record(
      {std::move(kept)},
      [pass, linear, bytes = x.bytes(), from = out.gradient, to = x.gradient]() -> Gradients {
        const Storage incoming = take(from);
        Storage gradient = pass.memory.allocate(bytes, "gradient/experts");
        const bool grouped = pass.run.model.experts.grouped_gemm;
        pass.caches.weight_gradients({linear.out, linear.in},
                                     grouped ? local_experts(pass.run) : 1);
        return {{to, std::move(gradient)}};
      });
  return out;
}

/// Activation times routing probability. Gated: one fused function that keeps its input; else the
/// activation's output is kept beside it, and with float32 probabilities the product is one first.
Tensor weighted_activation(Pass& pass, const Tensor& x) {
  const Run& run = pass.run;
  Memory& memory = pass.memory;
  const int64_t bytes = x.bytes() / (run.model.gated ? 2 : 1);
  std::vector<Storage> kept{x.storage};
  Storage product;
  if (!run.model.gated) {
    kept.push_back(memory.allocate(bytes, "saved/experts.activation"));
    if (run.model.experts.router_fp32) {
      product = memory.allocate(bytes * 2, "temporary/experts.weighted activation");
    }
  }
  Tensor out{memory.allocate(bytes, "saved/experts.weighted activation")};
  product.reset();
  pass.graph->record(
      std::move(kept),
      [pass, input_bytes = x.bytes(), from = out.gradient, to = x.gradient]() -> Gradients {
        Storage incoming = take(from);
        Storage gradient = pass.memory.allocate(input_bytes, "gradient/experts.activation");
        incoming.reset();
        return {{to, std::move(gradient)}};
      });
  return out;
}

/// The MLP of `rows`, of one expert or of several whose GEMMs are grouped.
Tensor expert_mlp(Pass& pass, const Tensor& rows, const Traffic& traffic) {
  const Run& run = pass.run;
  const int64_t width = run.model.experts.ffn / run.parallel.expert_tensor;
  const int64_t num_rows = rows.bytes() / traffic.bytes(1);
  const bool discards = recomputes(pass, "moe_act") && run.model.experts.grouped_gemm;
  OffloadBracket first_bracket(pass, "expert_fc1");
  const Tensor first = expert_linear(
      pass, rows,
      {.name = "experts.fc1", .in = traffic.width, .out = width * (run.model.gated ? 2 : 1)},
      num_rows);
  first_bracket.close(pass);
  first_bracket.commit(pass);
  OffloadBracket activation_bracket(pass, "moe_act");
  OutputDiscarding activated(discards, pass, {first.storage}, [first](Pass& region) {
    return std::vector{weighted_activation(region, first)};
  });
  activation_bracket.close(pass);
  Tensor out = expert_linear(
      pass, activated.outputs().front(),
      {.name = "experts.fc2", .in = width, .out = traffic.width, .keeps_original = discards},
      num_rows);
  activated.discard(pass);
  activation_bracket.commit(pass);
  return out;
}

Tensor run_experts(Pass& pass, const Tensor& rows, const Traffic& traffic) {
  const Run& run = pass.run;
  const bool engine = run.place.transformer_engine;
  if (run.model.experts.grouped_gemm) {
    if (engine) pass.caches.te_grouped_gemm();
    return expert_mlp(pass, rows, traffic);
  }
  if (engine) pass.caches.te_gemm();
  if (local_experts(run) == 1) return expert_mlp(pass, rows, traffic);
  std::vector<Tensor> outputs;  // SequentialMLP: one expert after the other
  for (const Tensor& part : views(pass, rows, local_experts(run))) {
    outputs.push_back(expert_mlp(pass, part, traffic));
  }
  return joined(pass, outputs, Axis::kRows);
}

/// Brings the rows home and sums them by token. In deterministic mode the sum is index_add_, which
/// keeps its source (moe_utils.py, unpermute).
Tensor combine(Pass& pass, Tensor rows, int64_t out_bytes, const Traffic& traffic) {
  const Run& run = pass.run;
  Memory& memory = pass.memory;
  const bool keeps = run.place.deterministic && !run.place.old_recording;
  const GradientSlot to = rows.gradient;
  Storage kept, out;
  if (gathers(run)) {
    out = memory.allocate(traffic.bytes(traffic.group_tokens), "temporary/experts.combined");
    kept = keeps ? rows.storage : nullptr;
    rows.storage.reset();
    if (run.parallel.tensor * run.parallel.expert > 1) {
      out = memory.allocate(out_bytes, "temporary/experts.combined");
    }
  } else {
    if (local_experts(run) > 1 && exchanges(run)) {
      replace(pass, rows.storage, traffic.bytes(traffic.rows));
    }
    if (run.parallel.expert_tensor > 1) {
      replace(pass, rows.storage, traffic.bytes(traffic.rows / run.parallel.expert_tensor));
    }
    if (run.parallel.expert > 1) replace(pass, rows.storage, traffic.bytes(traffic.sent));
    out = memory.allocate(out_bytes, "temporary/experts.combined");
    kept = keeps ? rows.storage : nullptr;
    rows.storage.reset();
  }
  Tensor combined{std::move(out)};
  const int64_t exchanged = traffic.bytes(gathers(run) ? traffic.group_tokens : traffic.rows);
  pass.graph->record(
      {std::move(kept)}, [pass, exchanged, traffic, from = combined.gradient, to]() -> Gradients {
        Storage incoming = take(from);
        const Storage gathered = pass.memory.allocate(exchanged, "gradient/experts.exchange");
        incoming.reset();
        return {{to, pass.memory.allocate(traffic.bytes(traffic.rows), "gradient/experts.output")}};
      });
  return combined;
}

/// Router, shared experts, experts: all that the label `moe` recomputes.
Tensor mixture(Pass& pass, const Tensor& normed) {
  const Run& run = pass.run;
  const ExpertSize& experts = run.model.experts;
  const Traffic traffic = traffic_of(pass);
  route(pass, normed);
  Tensor shared;
  if (experts.shared_ffn > 0) shared = shared_experts(pass, normed);
  const bool latent = experts.latent_dim > 0;
  Tensor tokens =
      latent ? whole_linear(
                   pass, normed,
                   {.name = "experts.latent", .in = run.model.hidden, .out = experts.latent_dim})
             : normed;
  const int64_t out_bytes = tokens.bytes();
  Tensor out = combine(pass, run_experts(pass, dispatch(pass, tokens, traffic), traffic), out_bytes,
                       traffic);
  if (latent) {
    out = whole_linear(
        pass, out,
        {.name = "experts.from latent", .in = experts.latent_dim, .out = run.model.hidden});
  }
  return experts.shared_ffn > 0 ? add(pass, out, shared) : out;
}

}  // namespace

Tensor experts_half(Pass& pass, const Tensor& x) {
  OffloadBracket bracket(pass, "mlp_norm");
  OutputDiscarding normed(recomputes(pass, "layernorm"), pass, {x.storage}, [x](Pass& region) {
    return std::vector{norm(region, x, region.sizes.region_tokens, "experts.norm")};
  });
  bracket.close(pass);
  Tensor out = checkpoint_if(
      recomputes(pass, "moe"), pass,
      [input = normed.outputs().front()](Pass& region) { return mixture(region, input); });
  normed.discard(pass);
  Tensor sum = bias_dropout_add(pass, out, x);
  bracket.commit(pass);
  return sum;
}

}  // namespace refrain::mcore::memory
