#include "cost/rank_load.h"

#include <algorithm>

#include "base/error.h"
#include "cost/shape/model_size.h"

namespace refrain::cost {
namespace {

using Method = mcore::Recompute::Method;

constexpr double kUnevenShare = 1.02;  // of the heaviest rank against the mean

int64_t num_layers(const std::vector<KindTime>& kinds) {
  int64_t layers = 0;
  for (const KindTime& each : kinds) layers += each.count;
  return layers;
}

/// Replays only where the layer is recomputed.
LayerTime with_replay(const LayerTime& layer, double share) {
  LayerTime time = layer;
  time.replay_s *= share;
  time.host_replay *= share;
  return time;
}

struct Shares {
  double layers;  // of the model's layers
  double heads;   // of the loss heads
};

/// The last rank's, then another's.
std::vector<Shares> even_shares(const mcore::Run& run, int64_t layers) {
  const mcore::Parallel& parallel = run.parallel;
  const int64_t chunks = parallel.pipeline * parallel.virtual_stages;
  const auto p = static_cast<double>(parallel.pipeline);
  const auto l = static_cast<double>(layers);
  const bool told = parallel.embedding_counts || parallel.loss_counts;
  const int64_t counted =
      told ? (parallel.embedding_counts ? 1 : 0) + (parallel.loss_counts ? 1 : 0) : 2;
  if (!told && layers % chunks == 0 && run.model.mtp_layers == 0) {
    return {{1 / p, 1}, {1 / p, 0}};
  }
  if ((layers + counted) % chunks == 0) {
    const double share = (l + static_cast<double>(counted)) / (p * l);
    const bool fewer_on_last = !told || parallel.loss_counts;
    return {{share - (fewer_on_last ? 1 / l : 0), 1}, {share, 0}};
  }
  return {{kUnevenShare / p, 1 / p}};
}

const LayerTime& time_of(const std::vector<KindTime>& kinds, const mcore::LayerKind& kind) {
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const KindTime& each) { return each.kind == kind; });
  RC_CHECK(found != kinds.end());
  return found->layer;
}

/// Prediction depths stand on the last rank.
LayerTime depths_load(const mcore::Run& run, const std::vector<KindTime>& kinds) {
  LayerTime load;
  if (run.model.mtp_layers == 0) return load;
  for (const mcore::LayerKind& kind : depth_kinds(run.model)) {
    load += static_cast<double>(run.model.mtp_layers) * time_of(kinds, kind);
  }
  return load;
}

}  // namespace

std::vector<LayerTime> even_rank_loads(const mcore::Run& run, const std::vector<KindTime>& kinds,
                                       const LayerTime& head) {
  const int64_t layers = num_layers(kinds);
  RC_CHECK(layers > 0);
  const auto l = static_cast<double>(layers);
  const auto chunks = static_cast<double>(run.parallel.pipeline * run.parallel.virtual_stages);
  LayerTime all;
  for (const KindTime& each : kinds) all += static_cast<double>(each.count) * each.layer;
  if (run.recompute.method == Method::kBlock) {
    all =
        with_replay(all, std::min(1.0, static_cast<double>(run.recompute.num_layers) * chunks / l));
  }
  // In other than hybrid models a prediction depth is one more of the mean layer.
  if (!is_hybrid(run.model)) all = (1 + static_cast<double>(run.model.mtp_layers) / l) * all;
  std::vector<LayerTime> loads;
  for (const Shares& share : even_shares(run, layers)) {
    LayerTime load = share.layers * all;
    load += share.heads * head;
    loads.push_back(load);
  }
  return loads;
}

std::vector<LayerTime> rank_loads_of_layers(const mcore::Run& run,
                                            const std::vector<LayerTime>& layers,
                                            const std::vector<KindTime>& kinds,
                                            const LayerTime& head) {
  std::vector<LayerTime> loads(run.parallel.pipeline);
  for (int64_t rank = 0; rank < run.parallel.pipeline; ++rank) {
    for (int64_t chunk = 0; chunk < run.parallel.virtual_stages; ++chunk) {
      const mcore::StageLayers stage = mcore::stage_layers(run, rank, chunk);
      for (int64_t i = 0; i < stage.count; ++i) loads[rank] += layers.at(stage.first + i);
    }
  }
  loads.back() += depths_load(run, kinds);
  loads.back() += head;
  return loads;
}

}  // namespace refrain::cost
