#include "mcore/run.h"

#include <algorithm>

#include "base/error.h"

namespace refrain::mcore {
namespace {

/// Layers of every chunk where no layout is given: equal shares, one less where the embedding or
/// the loss takes a layer's place.
int64_t even_share(const Run& run, int64_t rank, int64_t virtual_stage) {
  const Parallel& parallel = run.parallel;
  const int64_t chunks = parallel.pipeline * parallel.virtual_stages;
  const int64_t slots = std::ssize(run.model.layers) + (parallel.embedding_counts ? 1 : 0) +
                        (parallel.loss_counts ? 1 : 0);
  const bool first = rank == 0 && virtual_stage == 0;
  const bool last = rank == parallel.pipeline - 1 && virtual_stage == parallel.virtual_stages - 1;
  return slots / chunks - (first && parallel.embedding_counts ? 1 : 0) -
         (last && parallel.loss_counts ? 1 : 0);
}

int64_t chunk_size(const Run& run, int64_t rank, int64_t virtual_stage) {
  const auto& layout = run.parallel.layout;
  if (layout.empty()) return even_share(run, rank, virtual_stage);
  RC_CHECK(virtual_stage < std::ssize(layout) && rank < std::ssize(layout[virtual_stage]),
           "chunk {} of rank {}", virtual_stage, rank);
  return layout[virtual_stage][rank];
}

}  // namespace

int64_t num_micro_batches(const Run& run) {
  return std::max<int64_t>(1, run.batch.global / (run.batch.micro * run.parallel.data));
}

int64_t padded_vocab(const Run& run) {
  const int64_t multiple = run.model.vocab_divisible_by * run.parallel.tensor;
  return (run.model.vocab + multiple - 1) / multiple * multiple;
}

StageLayers stage_layers(const Run& run, int64_t rank, int64_t virtual_stage) {
  RC_CHECK(rank >= 0 && rank < run.parallel.pipeline, "rank {}", rank);
  StageLayers stage;
  for (int64_t stage_before = 0; stage_before <= virtual_stage; ++stage_before) {
    const int64_t end = stage_before == virtual_stage ? rank : run.parallel.pipeline;
    for (int64_t r = 0; r < end; ++r) stage.first += chunk_size(run, r, stage_before);
  }
  stage.count = chunk_size(run, rank, virtual_stage);
  return stage;
}

std::vector<Recompute> layer_recompute_of(const Run& run, const Recompute& setting) {
  if (setting.method != Recompute::Method::kBlock) {
    return std::vector<Recompute>(run.model.layers.size(), setting);
  }
  std::vector<Recompute> layers(run.model.layers.size());
  for (int64_t rank = 0; rank < run.parallel.pipeline; ++rank) {
    for (int64_t chunk = 0; chunk < run.parallel.virtual_stages; ++chunk) {
      const StageLayers stage = stage_layers(run, rank, chunk);
      RC_CHECK(stage.first >= 0 && stage.first + stage.count <= std::ssize(layers),
               "layers {} to {} of {}", stage.first, stage.first + stage.count, layers.size());
      const int64_t num_whole = std::min(setting.num_layers, stage.count);
      std::fill_n(layers.begin() + stage.first, num_whole,
                  Recompute{.method = Recompute::Method::kUniform});
    }
  }
  return layers;
}

}  // namespace refrain::mcore
