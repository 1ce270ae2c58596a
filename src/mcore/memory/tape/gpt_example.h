// The smallest run of Megatron-LM's functional tests, for tests to vary: 12 layers, 512 hidden,
// GPT-2's vocabulary, on one A100 with unfused attention.
#pragma once

#include "mcore/run.h"

namespace refrain::mcore::memory {

inline Run gpt_example() {
  Run run;
  run.model.layers.resize(12);
  run.model.hidden = 512;
  run.model.ffn = 2048;
  run.model.attention = {.num_heads = 8, .num_query_groups = 8, .head_dim = 64};
  run.model.vocab = 50257;
  run.model.max_positions = 1024;
  run.batch = {.micro = 4, .global = 32, .seq = 1024, .attention_mask = true};
  run.parallel.data = run.parallel.num_gpus = 8;
  run.numerics.gradient_fusion = false;
  run.place.compute_capability = 80;
  run.place.attention = AttentionKernel::kUnfused;
  return run;
}

/// The same over pipeline ranks, each with the chunks of `virtual_stages`.
inline Run pipeline_example(int64_t ranks, int64_t virtual_stages) {
  Run run = gpt_example();
  run.parallel.pipeline = ranks;
  run.parallel.virtual_stages = virtual_stages;
  run.parallel.data = 1;
  return run;
}

}  // namespace refrain::mcore::memory
