// A published architecture as what bytes and seconds depend on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "config/recipes/architecture.h"
#include "mcore/run.h"

namespace refrain::accuracy {

/// The model an architecture's row describes; sizes the row leaves out are at Megatron's defaults.
/// Learned positions have no number yet: it is the run's sequence length. Experts are grouped into
/// one GEMM and dispatched all-to-all, dropout is 0, as Megatron-Bridge's providers set them.
/// Findings: `architecture.incomplete` where depth, width or heads are missing, `architecture.
/// not-a-decoder` where the row is no language model. A vocabulary nobody states is a note
/// `architecture.vocabulary-assumed`.
Checked<mcore::Model> model_of(const config::Architecture& architecture);

/// A hybrid model's layers: M Mamba, * attention, - dense MLP, E experts. What follows the first
/// "/" are prediction depths, one a "/", and no layers; "|" parts pipeline stages. Nothing where
/// another letter is in it. Source: Megatron-Core's hybrid_layer_allocation.
std::optional<std::vector<mcore::LayerKind>> hybrid_layers(std::string_view pattern);
/// The prediction depths of a pattern.
int64_t hybrid_mtp_layers(std::string_view pattern);

}  // namespace refrain::accuracy
