// Builds the graph of a dense decoder: GPT style, Llama style and any mixture of their options.
#pragma once

#include "config/run_shape.h"
#include "model/graph.h"

namespace refrain::model {

/// One embedding block, `num_layers` layers that share a graph, one head block.
/// `config` and `shape` have passed config::validate.
ModelGraph build_dense(const config::ModelConfig& config, const config::RunShape& shape);

}  // namespace refrain::model
