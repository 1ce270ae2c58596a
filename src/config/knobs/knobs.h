// A configuration as its knobs: Megatron's own names, typed, each with the default that most
// dialects have (defaults_of in knob_table.h has the others').
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace refrain::config {

/// A list of words, or the one text that was given in its place ("attn,moe"): some rules of
/// Megatron-Core tell the two apart.
struct WordList {
  std::vector<std::string> words;
  bool is_text = false;  // then `words` holds that text alone

  bool has(std::string_view word) const;
  bool empty() const { return words.empty(); }
  bool operator==(const WordList&) const = default;
};

/// Which layers are of a kind: a rhythm of n layers, or one flag a layer.
using LayerFrequency = std::variant<int64_t, std::vector<int64_t>>;

/// An optional is null where Megatron's field may be None.
struct Knobs {
  // Recompute.
  std::optional<std::string> recompute_granularity;
  std::optional<std::string> recompute_method;
  std::optional<int64_t> recompute_num_layers;
  std::optional<WordList> recompute_modules;
  std::optional<bool> distribute_saved_activations = false;
  bool moe_layer_recompute = false;
  std::optional<int64_t> mhc_recompute_layer_num;
  int64_t gdp_num_chunk_states_to_recompute = 2;
  bool gdp_cutedsl_kernel = false;
  std::optional<int64_t> num_microbatches_with_partial_activation_checkpoints;

  // Offload of whole layers, of named activations, paged stash.
  bool cpu_offloading = false;
  std::optional<int64_t> cpu_offloading_num_layers = 0;
  bool cpu_offloading_activations = true;
  bool cpu_offloading_weights = false;
  bool cpu_offloading_double_buffering = false;
  bool cpu_offloading_retain_pinned_cpu_buffers = false;
  bool fine_grained_activation_offloading = false;
  std::optional<WordList> offload_modules = WordList{};
  int64_t min_offloaded_tensor_size = 1 << 20;
  int64_t delta_offload_bytes_across_pp_ranks = 0;
  double activation_offload_fraction = 1;
  bool delay_offload_until_cuda_graph = false;
  std::optional<int64_t> fine_grained_offloading_max_inflight_offloads;
  bool moe_paged_stash = false;

  // CUDA graphs.
  bool enable_cuda_graph = false;
  bool external_cuda_graph = false;
  std::string cuda_graph_impl = "none";
  std::optional<WordList> cuda_graph_scope;
  std::optional<WordList> cuda_graph_modules = WordList{{"full"}, true};
  std::optional<std::string> inference_cuda_graph_scope;
  int64_t cuda_graph_warmup_steps = 3;

  // Parallelism and schedule.
  int64_t tensor_model_parallel_size = 1;
  int64_t pipeline_model_parallel_size = 1;
  std::optional<int64_t> virtual_pipeline_model_parallel_size;
  int64_t context_parallel_size = 1;
  int64_t expert_model_parallel_size = 1;
  std::optional<int64_t> expert_tensor_parallel_size;
  bool sequence_parallel = false;
  std::optional<std::string> pipeline_dtype;
  std::optional<int64_t> num_layers_in_first_pipeline_stage;
  std::optional<int64_t> num_layers_in_last_pipeline_stage;
  bool account_for_embedding_in_pipeline_split = false;
  bool account_for_loss_in_pipeline_split = false;
  std::optional<std::string> pipeline_model_parallel_layout;
  std::optional<int64_t> microbatch_group_size_per_vp_stage;
  bool overlap_p2p_comm = false;
  bool batch_p2p_comm = true;
  bool overlap_p2p_comm_warmup_flush = false;
  bool defer_embedding_wgrad_compute = false;
  int64_t wgrad_deferral_limit = 0;
  bool gradient_accumulation_fusion = false;
  bool variable_seq_lengths = false;
  bool overlap_moe_expert_parallel_comm = false;
  bool delay_wgrad_compute = false;
  bool overlap_dispatch_backward_with_experts_wgrad = false;
  bool ep_overlap_early_attn_memory_release = false;
  std::optional<int64_t> tensor_parallel_num_weight_shards;
  std::optional<int64_t> expert_tensor_parallel_num_weight_shards;

  // Precision.
  bool fp16 = false;
  bool bf16 = false;
  std::optional<std::string> fp8;
  std::optional<std::string> fp8_recipe = "delayed";
  bool fp8_param = false;
  bool first_last_layers_bf16 = false;
  int64_t num_layers_at_start_in_bf16 = 1;
  int64_t num_layers_at_end_in_bf16 = 1;
  std::optional<std::string> fp8_quantizer_factory;
  bool fp8_output_proj = false;
  std::optional<std::string> fp4;
  std::optional<std::string> fp4_recipe = "nvfp4";
  bool fp4_param = false;
  std::optional<std::string> fp4_quantizer_factory;
  bool fp32_residual_connection = false;
  bool activation_func_fp8_input_store = false;

  // The model.
  int64_t num_layers = 0;
  int64_t hidden_size = 0;
  std::optional<int64_t> ffn_hidden_size;
  int64_t num_attention_heads = 0;
  std::optional<int64_t> num_query_groups;
  std::optional<int64_t> kv_channels;
  double attention_dropout = 0.1;
  double hidden_dropout = 0.1;
  std::string normalization = "LayerNorm";
  std::string activation_func = "gelu";
  bool gated_linear_unit = false;
  bool add_bias_linear = true;
  bool bias_activation_fusion = false;
  bool use_te_activation_func = false;
  bool fused_residual_rmsnorm = false;
  bool multi_latent_attention = false;
  bool apply_rope_fusion = false;
  bool rotary_interleaved = false;
  bool fused_single_qkv_rope = false;
  bool attention_output_gate = false;
  bool cache_mla_latents = false;
  std::optional<int64_t> q_lora_rank;
  std::optional<int64_t> kv_lora_rank;
  bool mla_down_proj_fusion = false;
  std::string rope_type = "yarn";
  std::optional<std::string> experimental_attention_variant;
  std::optional<LayerFrequency> linear_attention_freq;
  std::optional<int64_t> linear_conv_kernel_dim = 4;
  std::optional<int64_t> linear_key_head_dim = 128;
  std::optional<int64_t> linear_value_head_dim = 128;
  std::optional<int64_t> linear_num_key_heads = 16;
  std::optional<int64_t> linear_num_value_heads = 32;
  bool enable_mhc_connections = false;
  std::optional<int64_t> mtp_num_layers;
  std::string transformer_impl = "transformer_engine";
  std::string attention_backend = "auto";

  // Mixture of experts.
  std::optional<int64_t> num_moe_experts;
  std::optional<int64_t> moe_ffn_hidden_size;
  LayerFrequency moe_layer_freq = int64_t{1};
  int64_t moe_router_topk = 2;
  std::string moe_router_score_function = "softmax";
  bool moe_router_pre_softmax = false;
  std::string moe_router_load_balancing_type = "aux_loss";
  bool moe_router_enable_expert_bias = false;
  bool moe_grouped_gemm = false;
  bool use_transformer_engine_op_fuser = false;
  std::optional<int64_t> moe_shared_expert_intermediate_size;
  bool moe_shared_expert_overlap = false;
  std::string moe_token_dispatcher_type = "allgather";
  bool moe_enable_deepep = false;
  std::string moe_flex_dispatcher_backend = "deepep";
  std::optional<double> moe_expert_capacity_factor;
  bool moe_pad_expert_input_to_capacity = false;
  std::optional<double> moe_expert_rank_capacity_factor;
  bool moe_router_padding_for_fp8 = false;
  bool moe_router_padding_for_quantization = false;
  std::optional<double> moe_input_jitter_eps;

  // The run around the configuration classes.
  int64_t micro_batch_size = 1;
  std::optional<int64_t> global_batch_size;
  std::optional<int64_t> seq_length;
  std::optional<std::string> te_version = "recent";

  bool operator==(const Knobs&) const = default;
};

}  // namespace refrain::config
