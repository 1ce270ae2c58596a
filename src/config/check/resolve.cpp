#include "config/check/resolve.h"

#include <algorithm>

#include "config/rules/label_effect.h"

namespace refrain::config {
namespace {

void resolve_full(const Knobs& k, ResolvedChunk& chunk) {
  const int64_t begin = chunk.where.first_layer, end = begin + chunk.where.layers;
  const int64_t count = k.recompute_num_layers.value_or(0);
  if (k.recompute_method == "uniform" && count >= 1) {
    for (int64_t first = begin; first < end;) {
      const int64_t last = end - first <= count ? end - 1 : first + count - 1;
      chunk.groups.push_back({first, last});
      first = last + 1;
    }
    return;
  }
  const int64_t block_end = begin + std::clamp<int64_t>(count, 0, chunk.where.layers);
  for (int64_t layer = begin; layer < block_end; ++layer) chunk.groups.push_back({layer, layer});
  if (block_end < end) chunk.saved.push_back({block_end, end - 1});
}

/// Neighbours of one kind become one span.
void resolve_selective(const Knobs& k, const Context& context, const std::vector<LayerKind>& kinds,
                       ResolvedChunk& chunk) {
  const int64_t begin = chunk.where.first_layer, end = begin + chunk.where.layers;
  for (int64_t layer = begin; layer < end; ++layer) {
    const LayerKind kind = kinds.at(static_cast<size_t>(layer));
    if (!chunk.selective.empty() && chunk.selective.back().kind == kind) {
      chunk.selective.back().layers.last = layer;
      continue;
    }
    SelectiveSpan span{{layer, layer}, kind, {}};
    for (const std::string& label : k.recompute_modules->words) {
      span.labels.push_back(
          {label, inactive_because(LabelList::kRecompute, label, k, kind, context)});
    }
    chunk.selective.push_back(std::move(span));
  }
}

}  // namespace

Resolved resolve(const Knobs& k, const Context& context) {
  const std::vector<LayerKind> kinds = layer_kinds(k);
  Resolved resolved;
  for (const Chunk& where : chunks_of(k)) {
    ResolvedChunk& chunk = resolved.chunks.emplace_back();
    chunk.where = where;
    if (where.layers == 0) continue;
    if (full(k)) {
      resolve_full(k, chunk);
    } else if (selective(k) && k.recompute_modules && !names_nothing(*k.recompute_modules)) {
      resolve_selective(k, context, kinds, chunk);
    } else {
      chunk.saved.push_back({where.first_layer, where.first_layer + where.layers - 1});
    }
  }
  return resolved;
}

}  // namespace refrain::config
