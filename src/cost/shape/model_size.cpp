#include "cost/shape/model_size.h"

#include <algorithm>

#include "cost/shape/rank_shape.h"

namespace refrain::cost {
namespace {

using mcore::FeedForward;
using mcore::Mixer;

/// Multiply-adds of a token in forward: with weights (as many as the weights), and without.
struct TokenMacs {
  double weights = 0, others = 0;
};

double gated_projections(const mcore::Model& model) { return model.gated ? 3 : 2; }

double attention_weights(const mcore::Model& model) {
  const mcore::AttentionSize& size = model.attention;
  const auto hidden = static_cast<double>(model.hidden);
  const auto dim = static_cast<double>(size.head_dim);
  const auto heads = static_cast<double>(size.num_heads);
  const double queries = (size.output_gate ? 2 : 1) * heads;
  return hidden * (queries + 2 * static_cast<double>(size.num_query_groups)) * dim +
         heads * dim * hidden;
}

double latent_attention_weights(const mcore::Model& model) {
  const mcore::AttentionSize& size = model.attention;
  const auto hidden = static_cast<double>(model.hidden);
  const auto heads = static_cast<double>(size.num_heads);
  const auto kv_rank = static_cast<double>(size.kv_lora_rank);
  const auto q_rank = static_cast<double>(size.q_lora_rank);
  const double queries = heads * static_cast<double>(size.qk_nope_dim + size.qk_rope_dim);
  return (q_rank > 0 ? q_rank * (hidden + queries) : hidden * queries) +
         hidden * (kv_rank + static_cast<double>(size.qk_rope_dim)) +
         kv_rank * heads * static_cast<double>(size.qk_nope_dim + size.v_dim) +
         heads * static_cast<double>(size.v_dim) * hidden;
}

/// Of the projections, and of convolution and rule (four products with the state's values squared).
TokenMacs linear_attention_macs(const mcore::Model& model) {
  const mcore::StateSize& size = model.state;
  const auto hidden = static_cast<double>(model.hidden);
  const auto keys = static_cast<double>(size.num_key_heads * size.key_dim);
  const auto values = static_cast<double>(size.num_value_heads * size.value_dim);
  const auto heads = static_cast<double>(size.num_value_heads);
  const auto value_dim = static_cast<double>(size.value_dim);
  return {.weights = hidden * (2 * keys + 2 * values + 2 * heads) + values * hidden,
          .others = static_cast<double>(size.conv_kernel) * (2 * keys + values) +
                    4 * heads * value_dim * value_dim};
}

TokenMacs mamba_macs(const mcore::Model& model) {
  const mcore::StateSize& size = model.state;
  const auto hidden = static_cast<double>(model.hidden);
  const auto inner = static_cast<double>(size.num_heads * size.head_dim);
  const double projected = 2 * inner + static_cast<double>(2 * size.num_groups * size.state_dim) +
                           static_cast<double>(size.num_heads);
  return {.weights = hidden * projected + inner * hidden,
          .others = 3.5 * inner * static_cast<double>(size.state_dim)};
}

TokenMacs mixer_macs(const mcore::Run& run, const mcore::LayerKind& kind) {
  const mcore::AttentionSize& size = run.model.attention;
  const auto heads = static_cast<double>(size.num_heads);
  const double visible = mean_visible(run, kind);
  switch (kind.mixer) {
    case Mixer::kAttention:
      return {attention_weights(run.model),
              2 * visible * heads * static_cast<double>(size.head_dim)};
    case Mixer::kLatentAttention:
      return {
          latent_attention_weights(run.model),
          visible * heads * static_cast<double>(size.qk_nope_dim + size.qk_rope_dim + size.v_dim)};
    case Mixer::kLinearAttention:
      return linear_attention_macs(run.model);
    case Mixer::kMamba:
      return mamba_macs(run.model);
    case Mixer::kNone:
      break;
  }
  return {};
}

double shared_expert_weights(const mcore::Model& model) {
  const auto hidden = static_cast<double>(model.hidden);
  const auto shared = static_cast<double>(model.experts.shared_ffn);
  const auto latent = static_cast<double>(model.experts.latent_dim);
  return gated_projections(model) * hidden * shared + 2 * hidden * latent;
}

double expert_weights(const mcore::Model& model) {
  const int64_t width = model.experts.latent_dim > 0 ? model.experts.latent_dim : model.hidden;
  return gated_projections(model) * static_cast<double>(width * model.experts.ffn);
}

double dense_weights(const mcore::Model& model) {
  return gated_projections(model) * static_cast<double>(model.hidden * model.ffn);
}

TokenMacs token_macs(const mcore::Run& run, const mcore::LayerKind& kind) {
  const mcore::Model& model = run.model;
  TokenMacs macs = mixer_macs(run, kind);
  if (kind.feed_forward == FeedForward::kDense) macs.weights += dense_weights(model);
  if (kind.feed_forward == FeedForward::kExperts) {
    macs.weights += shared_expert_weights(model) +
                    static_cast<double>(model.experts.topk) * expert_weights(model);
  }
  return macs;
}

Parameters layer_parameters(const mcore::Run& run, const mcore::LayerKind& kind) {
  const mcore::Model& model = run.model;
  Parameters size = {.dense = mixer_macs(run, kind).weights};
  if (kind.feed_forward == FeedForward::kDense) size.dense += dense_weights(model);
  if (kind.feed_forward == FeedForward::kExperts) {
    const auto experts = static_cast<double>(model.experts.num_experts);
    size.dense += shared_expert_weights(model) + static_cast<double>(model.hidden) * experts;
    size.routed += experts * expert_weights(model);
  }
  return size;
}

}  // namespace

bool is_hybrid(const mcore::Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const mcore::LayerKind& kind) {
    return kind.mixer == Mixer::kNone || kind.feed_forward == FeedForward::kNone;
  });
}

std::vector<mcore::LayerKind> depth_kinds(const mcore::Model& model) {
  if (!is_hybrid(model)) return {model.layers.back()};
  const FeedForward second =
      model.experts.num_experts > 0 ? FeedForward::kExperts : FeedForward::kDense;
  return {{.mixer = Mixer::kAttention, .feed_forward = FeedForward::kNone},
          {.mixer = Mixer::kNone, .feed_forward = second}};
}

std::vector<KindCount> layer_kinds(const mcore::Run& run) {
  std::vector<KindCount> kinds;
  const auto add = [&](const mcore::LayerKind& kind, int64_t count) {
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const KindCount& each) { return each.kind == kind; });
    if (same != kinds.end()) {
      same->count += count;
    } else if (count > 0) {
      kinds.push_back({kind, count});
    }
  };
  for (const mcore::LayerKind& kind : run.model.layers) add(kind, 1);
  if (is_hybrid(run.model)) {
    for (const mcore::LayerKind& kind : depth_kinds(run.model)) add(kind, run.model.mtp_layers);
  }
  return kinds;
}

Parameters parameters(const mcore::Run& run) {
  const auto vocab = static_cast<double>(mcore::padded_vocab(run));
  Parameters all = {.dense = 2 * vocab * static_cast<double>(run.model.hidden)};
  for (const auto& [kind, count] : layer_kinds(run)) {
    const Parameters size = layer_parameters(run, kind);
    all.dense += static_cast<double>(count) * size.dense;
    all.routed += static_cast<double>(count) * size.routed;
  }
  return all;
}

Flops published_flops(const mcore::Run& run) {
  const auto depths = static_cast<double>(run.model.mtp_layers);
  const auto hidden = static_cast<double>(run.model.hidden);
  TokenMacs macs;
  const auto add = [&](const mcore::LayerKind& kind, double count) {
    const TokenMacs layer = token_macs(run, kind);
    macs.weights += count * layer.weights;
    macs.others += count * layer.others;
  };
  for (const auto& [kind, count] : layer_kinds(run)) add(kind, static_cast<double>(count));
  if (!is_hybrid(run.model) && depths > 0) add(depth_kinds(run.model)[0], depths);
  // A depth joins two hidden states by a projection.
  macs.weights += depths * 2 * hidden * hidden;
  macs.weights += (1 + depths) * hidden * static_cast<double>(mcore::padded_vocab(run));
  const double passes = run.optimizer.trains_adapters_only ? 2 : 3;
  const auto tokens = static_cast<double>(run.batch.seq * run.batch.global);
  return Flops(2 * tokens * (passes * macs.weights + 3 * macs.others));
}

}  // namespace refrain::cost
