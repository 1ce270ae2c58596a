#include "cost/ops/layer_ops.h"

namespace refrain::cost {
namespace {

Ops mixer_ops(const mcore::Run& run, const mcore::LayerKind& kind) {
  switch (kind.mixer) {
    case mcore::Mixer::kNone:
      return {};
    case mcore::Mixer::kAttention:
      return attention_ops(run, kind);
    case mcore::Mixer::kLatentAttention:
      return latent_attention_ops(run, kind);
    case mcore::Mixer::kLinearAttention:
      return linear_attention_ops(run);
    case mcore::Mixer::kMamba:
      return mamba_ops(run);
  }
  return {};
}

Ops feed_forward_ops(const mcore::Run& run, const mcore::LayerKind& kind) {
  switch (kind.feed_forward) {
    case mcore::FeedForward::kNone:
      return {};
    case mcore::FeedForward::kDense:
      return dense_ops(run);
    case mcore::FeedForward::kExperts:
      return expert_ops(run);
  }
  return {};
}

}  // namespace

Ops layer_ops(const mcore::Run& run, const mcore::LayerKind& kind) {
  Ops ops = mixer_ops(run, kind);
  const Ops second = feed_forward_ops(run, kind);
  if (!second.empty()) {
    for (Op& op : ops) op.tail = false;  // the second half's norm reads what the first half makes
  }
  ops.insert(ops.end(), second.begin(), second.end());
  return ops;
}

}  // namespace refrain::cost
