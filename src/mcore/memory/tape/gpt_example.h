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

/// The same with experts that wide, shared ones, and latent attention.
inline Run mixture_example(int64_t expert_ffn) {
  Run run = gpt_example();
  run.model.gated = run.model.rms_norm = true;
  run.model.linear_bias = run.model.tied_embeddings = false;
  run.model.positions = Model::Positions::kRope;
  run.model.attention = {.num_heads = 8,
                         .qk_norm = true,
                         .q_lora_rank = 96,
                         .kv_lora_rank = 64,
                         .qk_nope_dim = 32,
                         .qk_rope_dim = 16,
                         .v_dim = 32};
  run.model.experts = {.num_experts = 8,
                       .topk = 2,
                       .ffn = expert_ffn,
                       .shared_ffn = 512,
                       .grouped_gemm = true,
                       .dispatcher = "alltoall"};
  for (LayerKind& kind : run.model.layers) {
    kind = {.mixer = Mixer::kLatentAttention, .feed_forward = FeedForward::kExperts};
  }
  return run;
}

/// The plain one over pipeline ranks, each with the chunks of `virtual_stages`.
inline Run pipeline_example(int64_t ranks, int64_t virtual_stages) {
  Run run = gpt_example();
  run.parallel.pipeline = ranks;
  run.parallel.virtual_stages = virtual_stages;
  run.parallel.data = 1;
  return run;
}

}  // namespace refrain::mcore::memory
