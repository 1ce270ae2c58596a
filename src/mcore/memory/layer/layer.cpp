#include "mcore/memory/layer/layer.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "mcore/memory/layer/halves.h"
#include "mcore/memory/ops/regions.h"
#include "mcore/memory/state/parameters.h"

namespace refrain::mcore::memory {
namespace {

Tensor mixer_half(Pass& pass, const Tensor& x, Mixer mixer, bool padding_mask) {
  switch (mixer) {
    case Mixer::kNone:
      break;
    case Mixer::kAttention:
      return attention_half(pass, x, padding_mask);
    case Mixer::kLatentAttention:
      return latent_attention_half(pass, x);
    case Mixer::kLinearAttention:
      return linear_attention_half(pass, x);
    case Mixer::kMamba:
      return mamba_half(pass, x);
  }
  return x;
}

Tensor feed_forward_half(Pass& pass, const Tensor& x, FeedForward feed_forward) {
  switch (feed_forward) {
    case FeedForward::kNone:
      break;
    case FeedForward::kDense:
      return dense_half(pass, x);
    case FeedForward::kExperts:
      return experts_half(pass, x);
  }
  return x;
}

/// How many layers from `index` on are recomputed together; 0: this one is not.
int64_t group_size(const Recompute& recompute, int64_t index) {
  switch (recompute.method) {
    case Recompute::Method::kNone:
    case Recompute::Method::kSelective:
      return 0;
    case Recompute::Method::kUniform:
      return std::max<int64_t>(0, recompute.num_layers);
    case Recompute::Method::kBlock:
      return index < recompute.num_layers ? 1 : 0;
  }
  return 0;
}

Tensor plainly(Pass& pass, Tensor x, std::span<const LayerKind> kinds, bool padding_mask) {
  for (const LayerKind& kind : kinds) {
    x = layer(pass, x, kind, padding_mask);
    pass.graph->end_of_layer();
  }
  return x;
}

/// The first K of N layers are offloaded whole (TransformerEngine, pytorch/cpu_offload.py): layer i
/// leaves when layer N - K + i starts, and comes back when backward of layer N - 1 - K + i does.
Tensor with_layers_offloaded(Pass& pass, Tensor x, std::span<const LayerKind> kinds,
                             bool padding_mask) {
  constexpr int64_t kMinElements = 256 * 1024;
  const auto num_layers = static_cast<int64_t>(kinds.size());
  const int64_t offloaded = std::min(pass.run.offload.num_layers, num_layers - 1);
  std::vector<OffloadGroupPtr> groups;
  for (int64_t i = 0; i < num_layers; ++i) {
    const int64_t leaves = i - (num_layers - offloaded), returns = leaves + 1;
    if (leaves >= 0) groups[leaves]->evict();
    if (i < offloaded) {
      groups.push_back(std::make_shared<OffloadGroup>(kMinElements * pass.sizes.element));
      pass.graph->open(groups.back());
    }
    x = layer(pass, x, kinds[i], padding_mask);
    pass.graph->close();
    pass.graph->record(
        {},
        [group = returns >= 0 && returns < offloaded ? groups[returns] : nullptr]() -> Gradients {
          if (group != nullptr) group->reload();
          return {};
        });
  }
  return x;
}

/// Full weights of a layer whose rank keeps a part of them, while they are gathered, and their full
/// gradients on the way to being scattered.
struct Gathered {
  Storage weights, gradients;
};

Tensor both_halves(Pass& pass, const Tensor& x, const LayerKind& kind, bool padding_mask) {
  return feed_forward_half(pass, mixer_half(pass, x, kind.mixer, padding_mask), kind.feed_forward);
}

}  // namespace

Tensor layer(Pass& pass, const Tensor& x, const LayerKind& kind, bool padding_mask) {
  if (!pass.run.optimizer.fsdp) return both_halves(pass, x, kind, padding_mask);
  const int64_t elements = num_elements(layer_parameters(pass.run, kind));
  const int64_t weight_bytes = elements * pass.sizes.element;
  const int64_t gradient_bytes = elements * pass.run.numerics.gradient_bytes;
  auto gathered = std::make_shared<Gathered>();
  pass.graph->record({}, [gathered]() -> Gradients {
    *gathered = {};
    return {};
  });
  const Storage weights = pass.memory.allocate(weight_bytes, "temporary/gathered weights");
  Tensor out = both_halves(pass, x, kind, padding_mask);
  pass.graph->record({}, [pass, gathered, weight_bytes, gradient_bytes]() -> Gradients {
    gathered->weights = pass.memory.allocate(weight_bytes, "temporary/gathered weights");
    gathered->gradients = pass.memory.allocate(gradient_bytes, "gradient/full weights");
    return {};
  });
  return out;
}

Tensor planned_layers(Pass& pass, Tensor x, std::span<const LayerKind> kinds,
                      std::span<const Recompute> recompute, bool padding_mask) {
  RC_CHECK(kinds.size() == recompute.size(), "{} layers, {} plans", kinds.size(), recompute.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    Pass own = pass;
    own.of_layer = &recompute[i];
    const auto one = kinds.subspan(i, 1);
    x = checkpoint_if(group_size(recompute[i], 0) > 0, own, [x, one, padding_mask](Pass& region) {
      return plainly(region, x, one, padding_mask);
    });
  }
  return x;
}

Tensor layers(Pass& pass, Tensor x, std::span<const LayerKind> kinds, bool padding_mask) {
  if (pass.run.offload.num_layers > 0) {
    return with_layers_offloaded(pass, std::move(x), kinds, padding_mask);
  }
  for (size_t i = 0; i < kinds.size();) {
    const auto size = static_cast<size_t>(group_size(pass.run.recompute, static_cast<int64_t>(i)));
    if (size == 0) {
      x = plainly(pass, std::move(x), kinds.subspan(i, 1), padding_mask);
      ++i;
      continue;
    }
    const auto group = kinds.subspan(i, std::min(size, kinds.size() - i));
    x = checkpoint(pass, [x, group, padding_mask](Pass& region) {
      return plainly(region, x, group, padding_mask);
    });
    i += group.size();
  }
  return x;
}

}  // namespace refrain::mcore::memory
