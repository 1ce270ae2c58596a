// Whole layers, and runs of layers under full recompute.
#pragma once

#include <span>

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// One layer: the half that mixes tokens, then the half that works on each alone.
Tensor layer(Pass& pass, const Tensor& x, const LayerKind& kind, bool padding_mask = false);

/// Layers in a row, each under a recompute of its own. A full one is a group of one layer.
Tensor planned_layers(Pass& pass, Tensor x, std::span<const LayerKind> kinds,
                      std::span<const Recompute> recompute, bool padding_mask = false);

/// Layers in a row, under the run's full recompute if it has one (core/recompute.py,
/// checkpointed_forward): groups of `num_layers`, or each of the first `num_layers` alone.
Tensor layers(Pass& pass, Tensor x, std::span<const LayerKind> kinds, bool padding_mask = false);

}  // namespace refrain::mcore::memory
