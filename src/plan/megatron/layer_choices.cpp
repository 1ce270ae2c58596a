#include "plan/megatron/layer_choices.h"

#include <algorithm>
#include <utility>

#include "mcore/memory/rank_stream.h"
#include "plan/megatron/held.h"
#include "plan/megatron/settings.h"

namespace refrain::plan {
namespace {

using Method = mcore::Recompute::Method;

/// One micro-batch through so many layers of one kind, on one pipeline rank.
mcore::Run probe(const mcore::Run& run, const mcore::LayerKind& kind,
                 const mcore::Recompute& recompute, size_t num_layers) {
  mcore::Run small = run;
  small.model.layers.assign(num_layers, kind);
  small.model.mtp_layers = 0;
  small.recompute = {};
  small.layer_recompute.assign(num_layers, recompute);
  small.parallel.num_gpus /= run.parallel.pipeline;
  small.parallel.pipeline = small.parallel.virtual_stages = 1;
  small.parallel.group_size = 0;
  small.parallel.layout.clear();
  small.parallel.embedding_counts = small.parallel.loss_counts = false;
  small.batch.global = small.batch.micro * small.parallel.data;
  return small;
}

Bytes held_for_backward(const mcore::Run& run) {
  return least_held_for_backward(mcore::memory::rank_stream(run, 0, 1)).saved;
}

bool beats(const LayerChoice& a, const LayerChoice& b) {
  return a.retained <= b.retained && a.replay.gpu_s <= b.replay.gpu_s &&
         a.replay.host_units <= b.replay.host_units;
}

/// The first of equals stays: it has the fewest labels.
std::vector<LayerChoice> unbeaten(const std::vector<LayerChoice>& choices) {
  std::vector<LayerChoice> kept;
  for (const LayerChoice& choice : choices) {
    const auto beats_it = [&](const LayerChoice& other) { return beats(other, choice); };
    if (std::any_of(kept.begin(), kept.end(), beats_it)) continue;
    std::erase_if(kept, [&](const LayerChoice& other) { return beats(choice, other); });
    kept.push_back(choice);
  }
  std::stable_sort(kept.begin(), kept.end(), [](const LayerChoice& a, const LayerChoice& b) {
    return a.retained > b.retained;
  });
  return kept;
}

}  // namespace

KindChoices layer_choices(const mcore::Run& run, const cost::DeviceProfile& device,
                          const mcore::LayerKind& kind) {
  KindChoices result{.kind = kind};
  const mcore::Run one = probe(run, kind, {}, 1);
  std::vector<LayerChoice> all;
  for (const mcore::Recompute& setting : all_settings(one)) {
    if (setting.method == Method::kBlock) continue;  // of one layer the same as uniform
    const Bytes three = held_for_backward(probe(run, kind, setting, 3));
    const Bytes two = held_for_backward(probe(run, kind, setting, 2));
    all.push_back({setting, three - two,
                   cost::replay_of(run, device, kind, cost::selection_of(setting),
                                   cost::ReplayPolicy::kRegion)});
  }
  result.examined = std::ssize(all);
  std::stable_sort(all.begin(), all.end(), [](const LayerChoice& a, const LayerChoice& b) {
    return a.recompute.labels.size() < b.recompute.labels.size();
  });
  result.choices = unbeaten(all);
  return result;
}

}  // namespace refrain::plan
