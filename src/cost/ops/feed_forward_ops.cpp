// Dense feed-forward halves and mixtures of experts.
//
// Sources: Megatron-Core, core/transformer/mlp.py, core/transformer/moe/moe_layer.py, experts.py
// and token_dispatcher.py. Routing is balanced: every expert gets its even share of the rows.
#include <algorithm>

#include "cost/ops/layer_ops.h"
#include "cost/ops/pieces.h"

namespace refrain::cost {
namespace {

/// Bytes of an activation that reads `inputs` times the rows' width and writes it once: two bytes
/// an element; backward reads the gradient too and writes the inputs' gradients.
MemoryTraffic activation_traffic(double elements, bool gated) {
  const double inputs = gated ? 2 : 1;
  return {2 * elements * (inputs + 1), 2 * elements * (2 * inputs + 1)};
}

struct FeedForward {
  double width;
  LabelSet labels;
};

/// Two projections with an activation between, split over the tensor-parallel ranks.
void add_feed_forward(OpList& ops, const mcore::Run& run, const FeedForward& ff) {
  const RankShape& shape = ops.shape();
  const auto hidden = static_cast<double>(run.model.hidden);
  const double inputs = run.model.gated ? 2 : 1;
  const double width = ff.width / shape.split;
  ops.gather(ff.labels);
  ops.gemm("fc1", {shape.tokens, inputs * width, hidden}, ff.labels);
  ops.add({.name = "activation",
           .work = activation_traffic(shape.tokens * width, run.model.gated),
           .host = kKernelUnits,
           .labels = ff.labels});
  ops.gemm("fc2", {shape.tokens, hidden, width}, ff.labels, true);
  ops.scatter(ff.labels, true);
}

void add_router(OpList& ops, const mcore::Run& run) {
  const double tokens = ops.shape().split_tokens;
  const double hidden = tokens * static_cast<double>(run.model.hidden);
  const double scores = tokens * static_cast<double>(run.model.experts.num_experts);
  ops.add({.name = "router",
           .work = MemoryTraffic{2 * hidden + 24 * scores, 4 * hidden + 24 * scores},
           .host = {18, 14},
           .scope = scope::kMoeRouter,
           .labels = {Label::kMoe}});
}

void add_shared_experts(OpList& ops, const mcore::Run& run) {
  OpList shared(run, scope::kMoeRouter);
  add_feed_forward(shared, run,
                   {.width = static_cast<double>(run.model.experts.shared_ffn),
                    .labels = {Label::kMoe, Label::kSharedExperts}});
  ops.append(shared.take());
}

struct Rows {
  double count;  // expert rows of this rank
  double width;  // elements of one, on the way to an expert
};

void add_dispatch(OpList& ops, const Rows& rows) {
  const double bytes = 4 * rows.count * rows.width;
  ops.add({.name = "dispatch",
           .work = ExpertLink{ops.shape().split_tokens, rows.width},
           .host = {8, 8},
           .scope = scope::kMoePreprocess,
           .labels = {Label::kMoe}});
  ops.add({.name = "permute",
           .work = Permute{bytes, bytes},
           .host = {10, 8},
           .scope = scope::kMoePreprocess,
           .labels = {Label::kMoe}});
}

/// `tail`: what leaves the experts is read by nothing in backward. The router's weights are applied
/// before the second projection (experts.py), so it is not, unless a latent is projected up.
void add_combine(OpList& ops, const Rows& rows, bool tail) {
  const double bytes = 4 * rows.count * rows.width;
  ops.add({.name = "unpermute",
           .work = Permute{bytes, bytes},
           .host = {6, 6},
           .labels = {Label::kMoe},
           .tail = tail});
  ops.add({.name = "combine",
           .work = ExpertLink{ops.shape().split_tokens, rows.width},
           .host = {8, 8},
           .labels = {Label::kMoe},
           .tail = tail});
}

void add_experts(OpList& ops, const mcore::Run& run, const Rows& rows, bool tail) {
  const mcore::ExpertSize& size = run.model.experts;
  const double local = std::max(
      1.0, static_cast<double>(size.num_experts) / static_cast<double>(run.parallel.expert));
  const auto ffn = static_cast<double>(size.ffn);
  const double split_ffn = ffn / static_cast<double>(run.parallel.expert_tensor);
  const double inputs = run.model.gated ? 2 : 1;
  ops.gemm("expert_fc1", {rows.count / local, inputs * split_ffn, rows.width, local},
           {Label::kMoe});
  ops.add({.name = "expert_activation",
           .work = activation_traffic(rows.count * ffn, run.model.gated),
           .host = {3, 4},
           .labels = {Label::kMoe, Label::kMoeAct},
           .recast = rows.count * ffn});
  ops.gemm("expert_fc2", {rows.count / local, rows.width, split_ffn, local}, {Label::kMoe}, tail);
}

}  // namespace

Ops dense_ops(const mcore::Run& run) {
  OpList ops(run, scope::kMlp);
  const double tokens = ops.shape().sequence_tokens;
  ops.norm(kKernelUnits, {Label::kMlp}, tokens);  // fused into fc1: inside the label's region
  add_feed_forward(ops, run,
                   {.width = static_cast<double>(run.model.ffn), .labels = {Label::kMlp}});
  ops.residual(tokens);
  return ops.take();
}

Ops expert_ops(const mcore::Run& run) {
  const mcore::ExpertSize& size = run.model.experts;
  OpList ops(run, scope::kMoe);
  const double tokens = ops.shape().split_tokens;
  const auto hidden = static_cast<double>(run.model.hidden);
  const auto latent = static_cast<double>(size.latent_dim);
  const bool has_latent = size.latent_dim > 0;
  const Rows rows = {.count = tokens * static_cast<double>(size.topk),
                     .width = has_latent ? latent : hidden};

  OpList router(run, scope::kMoeRouter);
  router.norm(kModuleUnits, {Label::kLayernorm}, tokens);
  add_router(router, run);
  ops.append(router.take());
  if (size.shared_ffn > 0) add_shared_experts(ops, run);
  if (has_latent) ops.gemm("latent_down", {tokens, latent, hidden}, {Label::kMoe});
  add_dispatch(ops, rows);
  add_experts(ops, run, rows, !has_latent);
  add_combine(ops, rows, !has_latent);
  if (has_latent) ops.gemm("latent_up", {tokens, hidden, latent}, {Label::kMoe}, true);
  ops.residual(tokens);
  return ops.take();
}

}  // namespace refrain::cost
