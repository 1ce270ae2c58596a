// The parameters of a rank, in the order its modules construct them: what weights, gradients and
// optimizer state are laid out from.
#pragma once

#include <cstdint>
#include <vector>

#include "mcore/run.h"

namespace refrain::mcore::memory {

struct Parameter {
  int64_t elements = 0;
  bool expert = false;            // lives in the buffer of the expert-data-parallel group
  bool quantized = false;         // a weight that a low-precision GEMM reads
  bool shared_embedding = false;  // an embedding that the first and the last stage both hold
};

/// Parameters of one chunk of one pipeline rank, on a tensor, expert and context rank each.
std::vector<Parameter> chunk_parameters(const Run& run, int64_t rank, int64_t virtual_stage);

/// Elements of one layer's parameters, in order.
std::vector<Parameter> layer_parameters(const Run& run, const LayerKind& kind);

int64_t num_elements(const std::vector<Parameter>& parameters);

/// True where `virtual_stage` of `rank` begins or ends the model.
bool is_first_chunk(const Run& run, int64_t rank, int64_t virtual_stage);
bool is_last_chunk(const Run& run, int64_t rank, int64_t virtual_stage);

/// The kind of a multi-token prediction depth: that of the last decoder layer.
LayerKind multi_token_kind(const Run& run);

}  // namespace refrain::mcore::memory
