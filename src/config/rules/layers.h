// The decoder layers of a model: of which kind each is, and which pipeline rank and virtual chunk
// it stands on.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "config/knobs/knobs.h"

namespace refrain::config {

/// What a decoder layer is made of, as far as labels care.
struct LayerKind {
  bool has_experts = false;
  bool softmax_attention = true;  // false: a linear-attention mixer

  auto operator<=>(const LayerKind&) const = default;
};

/// "dense", "expert", "dense linear-attention", ...
std::string to_text(LayerKind kind);

/// The kind of each decoder layer, from num_moe_experts, moe_layer_freq and linear_attention_freq
/// (Megatron-Core's block specs); empty where the model is not told.
std::vector<LayerKind> layer_kinds(const Knobs& k);

/// One model chunk of one pipeline rank: `layers` decoder layers from `first_layer` (0-based) on.
struct Chunk {
  int64_t rank = 0;
  int64_t chunk = 0;  // virtual stage within the rank
  int64_t first_layer = 0;
  int64_t layers = 0;

  bool operator==(const Chunk&) const = default;
};

/// The chunks in the order in which a micro-batch visits them: even, uneven at the ends, with
/// embedding or loss counted as layers, or an explicit pipeline_model_parallel_layout. Empty where
/// the model is not told, or the split does not place every layer once; the rules layout.* say why.
/// Source: Megatron-Core's get_transformer_layer_offset and PipelineParallelLayerLayout.
std::vector<Chunk> chunks_of(const Knobs& k);

}  // namespace refrain::config
