// What a recompute setting comes to: which layers of each pipeline rank and virtual chunk are
// recomputed, how, and which labels do nothing there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/rules/layers.h"
#include "config/rules/rule.h"

namespace refrain::config {

/// Decoder layers [first, last] that share a fate.
struct LayerSpan {
  int64_t first = 0, last = 0;

  bool operator==(const LayerSpan&) const = default;
};

/// A label in layers of one kind.
struct LabelEffect {
  std::string label;
  std::optional<std::string> inactive_because;  // nothing: active

  bool operator==(const LabelEffect&) const = default;
};

/// Layers of a chunk of one kind, and what the labels do there.
struct SelectiveSpan {
  LayerSpan layers;
  LayerKind kind;
  std::vector<LabelEffect> labels;
};

struct ResolvedChunk {
  Chunk where;
  std::vector<LayerSpan> groups;  // full: replayed from the input of each group's first layer
  std::vector<LayerSpan> saved;   // layers that keep all of their activations
  std::vector<SelectiveSpan> selective;
};

struct Resolved {
  std::vector<ResolvedChunk> chunks;  // empty where the layers of each rank are not told
};

/// Resolves knobs that a dialect accepted, `effective` after its rewrites. Source: Megatron-Core's
/// recompute.py (checkpointed_forward): both methods count layers within a model chunk, uniform
/// clips its last group, block takes the first layers.
Resolved resolve(const Knobs& effective, const Context& context);

}  // namespace refrain::config
