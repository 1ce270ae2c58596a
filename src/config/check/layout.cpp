#include "config/check/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/knobs/pipeline_layout.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

Checked<std::vector<Chunk>> reject(std::string rule, std::string message, std::string remedy) {
  return Checked<std::vector<Chunk>>::reject(
      {{std::move(rule), std::move(message), std::move(remedy)}});
}

/// Numbers layers in the order in which chunks are visited.
std::vector<Chunk> numbered(const std::vector<int64_t>& layers_of_stage, int64_t ranks) {
  std::vector<Chunk> chunks;
  int64_t first = 0;
  for (size_t stage = 0; stage < layers_of_stage.size(); ++stage) {
    const auto position = static_cast<int64_t>(stage);
    chunks.push_back({position % ranks, position / ranks, first, layers_of_stage[stage]});
    first += layers_of_stage[stage];
  }
  return chunks;
}

Checked<std::vector<Chunk>> explicit_layout(const Knobs& k, int64_t ranks) {
  const std::string& text = *k.pipeline_model_parallel_layout;
  const auto stages = layout_stages(text);
  if (!stages) {
    return reject("layout.unreadable",
                  fmt::format("a layout is made of E t m L | ( ) and *N: {}", in_quotes(text)),
                  "write it like Et*3|(tt|)*14tmL");
  }
  std::vector<int64_t> layers;
  for (const std::string& stage : *stages) {
    layers.push_back(std::count(stage.begin(), stage.end(), 't'));
  }
  int64_t sum = 0;
  for (const int64_t some : layers) sum += some;
  if (sum != k.num_layers || static_cast<int64_t>(layers.size()) % ranks != 0) {
    return reject("layout.unreadable",
                  fmt::format("a layout must hold num_layers decoder layers in a multiple of the "
                              "pipeline ranks: {} of {} layers in {} stages for {} ranks",
                              sum, k.num_layers, layers.size(), ranks),
                  "count its t and |");
  }
  return Checked<std::vector<Chunk>>::accept(numbered(layers, ranks));
}

/// Layers of each rank: what the first and last are told, the rest evenly.
std::vector<int64_t> layers_of_ranks(const Knobs& k, int64_t ranks) {
  int64_t rest = k.num_layers, others = ranks;
  for (const auto& end :
       {k.num_layers_in_first_pipeline_stage, k.num_layers_in_last_pipeline_stage}) {
    if (!end) continue;
    rest -= *end;
    --others;
  }
  if (k.account_for_embedding_in_pipeline_split) ++rest;
  if (k.account_for_loss_in_pipeline_split) ++rest;
  std::vector<int64_t> layers(static_cast<size_t>(ranks), others > 0 ? rest / others : 0);
  if (k.num_layers_in_first_pipeline_stage) layers.front() = *k.num_layers_in_first_pipeline_stage;
  if (k.num_layers_in_last_pipeline_stage) layers.back() = *k.num_layers_in_last_pipeline_stage;
  return layers;
}

}  // namespace

Checked<std::vector<Chunk>> chunks_of(const Knobs& k) {
  constexpr int64_t kMostStages = 100000;
  const int64_t ranks = k.pipeline_model_parallel_size;
  const int64_t chunks = std::max<int64_t>(1, k.virtual_pipeline_model_parallel_size.value_or(1));
  if (k.num_layers < 1 || ranks < 1 || ranks > kMostStages || chunks > kMostStages / ranks) {
    return reject("layout.not-told",
                  "the layers of each rank need num_layers and a pipeline size of 1 or more",
                  "set num_layers, or name a model or a recipe");
  }
  if (k.pipeline_model_parallel_layout) return explicit_layout(k, ranks);
  const std::vector<int64_t> of_ranks = layers_of_ranks(k, ranks);
  std::vector<int64_t> layers;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (const int64_t some : of_ranks) layers.push_back(some / chunks);
  }
  if (k.account_for_embedding_in_pipeline_split) --layers.front();
  if (k.account_for_loss_in_pipeline_split) --layers.back();
  return Checked<std::vector<Chunk>>::accept(numbered(layers, ranks));
}

}  // namespace refrain::config
