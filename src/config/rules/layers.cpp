#include "config/rules/layers.h"

#include <algorithm>

#include "config/knobs/pipeline_layout.h"

namespace refrain::config {
namespace {

constexpr int64_t kMost = 100000;  // layers, stages: more than any model has, a slip of the keys

bool has_model(const Knobs& k) { return k.num_layers >= 1 && k.num_layers <= kMost; }

bool is_expert_layer(const Knobs& k, size_t layer) {
  if (!k.num_moe_experts) return false;
  if (const auto* every = std::get_if<int64_t>(&k.moe_layer_freq)) {
    return *every > 0 && static_cast<int64_t>(layer) % *every == 0;
  }
  const auto& flags = std::get<std::vector<int64_t>>(k.moe_layer_freq);
  return layer < flags.size() && flags[layer] != 0;
}

/// Beside a delta net every n-th layer keeps softmax attention, or in a list those that are 0.
bool has_softmax(const Knobs& k, size_t layer) {
  const auto& variant = k.experimental_attention_variant;
  const bool linear = variant == "gated_delta_net" || variant == "gdn" || variant == "gdn2";
  if (!linear || !k.linear_attention_freq) return !linear;
  if (const auto* every = std::get_if<int64_t>(&*k.linear_attention_freq)) {
    return *every > 0 && (static_cast<int64_t>(layer) + 1) % *every == 0;
  }
  const auto& flags = std::get<std::vector<int64_t>>(*k.linear_attention_freq);
  return layer >= flags.size() || flags[layer] == 0;
}

/// Layers of each stage, from an explicit layout; empty where it cannot be read.
std::vector<int64_t> stages_of_layout(const Knobs& k) {
  std::vector<int64_t> layers;
  const auto stages = layout_stages(*k.pipeline_model_parallel_layout);
  if (!stages) return layers;
  for (const std::string& stage : *stages) {
    layers.push_back(std::count(stage.begin(), stage.end(), 't'));
  }
  return layers;
}

/// Layers of each rank, embedding and loss counted where they are: what the first and last are
/// told, the rest evenly. Empty where an end has more layers than the model.
std::vector<int64_t> layers_of_ranks(const Knobs& k) {
  const int64_t ranks = k.pipeline_model_parallel_size;
  int64_t rest = k.num_layers, others = ranks;
  for (const auto& end :
       {k.num_layers_in_first_pipeline_stage, k.num_layers_in_last_pipeline_stage}) {
    if (!end) continue;
    if (*end < 0 || *end > k.num_layers) return {};
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

/// Layers of each stage, where no layout says them.
std::vector<int64_t> stages_by_numbers(const Knobs& k) {
  const int64_t chunks = std::max<int64_t>(1, k.virtual_pipeline_model_parallel_size.value_or(1));
  if (chunks > kMost / k.pipeline_model_parallel_size) return {};
  const std::vector<int64_t> of_ranks = layers_of_ranks(k);
  if (of_ranks.empty()) return {};
  std::vector<int64_t> layers;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (const int64_t some : of_ranks) layers.push_back(some / chunks);
  }
  if (k.account_for_embedding_in_pipeline_split) --layers.front();
  if (k.account_for_loss_in_pipeline_split) --layers.back();
  return layers;
}

/// Every layer stands on one stage, and every rank has as many stages as the others.
bool places_all(const std::vector<int64_t>& layers_of_stage, const Knobs& k) {
  int64_t sum = 0;
  for (const int64_t layers : layers_of_stage) {
    if (layers < 0 || layers > k.num_layers) return false;
    sum += layers;
  }
  const auto stages = static_cast<int64_t>(layers_of_stage.size());
  return sum == k.num_layers && stages % k.pipeline_model_parallel_size == 0;
}

}  // namespace

std::string to_text(LayerKind kind) {
  std::string text = kind.has_experts ? "expert" : "dense";
  if (!kind.softmax_attention) text += " linear-attention";
  return text;
}

std::vector<LayerKind> layer_kinds(const Knobs& k) {
  if (!has_model(k)) return {};
  std::vector<LayerKind> kinds(static_cast<size_t>(k.num_layers));
  for (size_t layer = 0; layer < kinds.size(); ++layer) {
    kinds[layer] = {is_expert_layer(k, layer), has_softmax(k, layer)};
  }
  return kinds;
}

std::vector<Chunk> chunks_of(const Knobs& k) {
  const int64_t ranks = k.pipeline_model_parallel_size;
  if (!has_model(k) || ranks < 1 || ranks > kMost) return {};
  const std::vector<int64_t> layers_of_stage =
      k.pipeline_model_parallel_layout ? stages_of_layout(k) : stages_by_numbers(k);
  if (!places_all(layers_of_stage, k)) return {};
  std::vector<Chunk> chunks;
  int64_t first = 0;
  for (const int64_t layers : layers_of_stage) {
    const auto position = static_cast<int64_t>(chunks.size());
    chunks.push_back({position % ranks, position / ranks, first, layers});
    first += layers;
  }
  return chunks;
}

}  // namespace refrain::config
