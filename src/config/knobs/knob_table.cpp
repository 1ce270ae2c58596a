// Names, releases and defaults: Megatron-Core's ModelParallelConfig, TransformerConfig and
// MLATransformerConfig, as the releases 0.12.3 to 0.19.2 define them.
#include "config/knobs/knob_table.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "config/scan.h"

namespace refrain::config {
namespace {

// Fields of Megatron-Core's main that no release has, and what stands beside the classes.
constexpr DialectSet kMain = since(Dialect::kBridge);
constexpr DialectSet kRun = kEverywhere;

// clang-format off
constexpr Knob kTable[] = {
    // Recompute.
    {"recompute_granularity", &Knobs::recompute_granularity, kEverywhere, "Recompute", "full, selective", "what is recomputed: every layer from its input, or named modules", ""},
    {"recompute_method", &Knobs::recompute_method, kEverywhere, "Recompute", "uniform, block", "full: groups of layers, or the first layers of a chunk", ""},
    {"recompute_num_layers", &Knobs::recompute_num_layers, kEverywhere, "Recompute", "1 or more", "full: layers a group (uniform) or layers recomputed a chunk (block)", ""},
    {"recompute_modules", &Knobs::recompute_modules, kEverywhere, "Recompute", "list of labels", "selective: the modules that are recomputed; null means [core_attn]", ""},
    {"distribute_saved_activations", &Knobs::distribute_saved_activations, kEverywhere, "Recompute", "", "full: each tensor-parallel rank keeps its slice of a group's input", ""},
    {"moe_layer_recompute", &Knobs::moe_layer_recompute, kEverywhere, "Recompute", "", "deprecated: selective, with moe added to the labels", ""},
    {"mhc_recompute_layer_num", &Knobs::mhc_recompute_layer_num, kMain, "Recompute", "1 or more", "layers a block of hyper-connection recompute; null: one block a chunk", ""},
    {"gdp_num_chunk_states_to_recompute", &Knobs::gdp_num_chunk_states_to_recompute, kMain, "Recompute", "0 to 64", "chunk states of gated delta-product that its kernel recomputes", ""},
    {"gdp_cutedsl_kernel", &Knobs::gdp_cutedsl_kernel, kMain, "Recompute", "", "the kernel that reads gdp_num_chunk_states_to_recompute", ""},
    {"num_microbatches_with_partial_activation_checkpoints", &Knobs::num_microbatches_with_partial_activation_checkpoints, kEverywhere, "Recompute", "0 or more", "1F1B: micro-batches of the window that keep their own setting; no model reads it", ""},
    // Offload.
    {"cpu_offloading", &Knobs::cpu_offloading, kEverywhere, "Offload", "", "activations of the first layers go to host memory (TransformerEngine)", ""},
    {"cpu_offloading_num_layers", &Knobs::cpu_offloading_num_layers, kEverywhere, "Offload", "0 to num_layers - 1", "layers whose activations are offloaded", ""},
    {"cpu_offloading_activations", &Knobs::cpu_offloading_activations, kEverywhere, "Offload", "", "layer offload takes activations", ""},
    {"cpu_offloading_weights", &Knobs::cpu_offloading_weights, kEverywhere, "Offload", "", "layer offload takes weights; TransformerEngine's second version ignores it", ""},
    {"cpu_offloading_double_buffering", &Knobs::cpu_offloading_double_buffering, since(Dialect::kMcore_0_14_0), "Offload", "", "two device buffers for reloading", ""},
    {"cpu_offloading_retain_pinned_cpu_buffers", &Knobs::cpu_offloading_retain_pinned_cpu_buffers, since(Dialect::kMcore_0_17_1), "Offload", "", "pinned host buffers are kept from step to step", ""},
    {"fine_grained_activation_offloading", &Knobs::fine_grained_activation_offloading, since(Dialect::kMcore_0_16_1), "Offload", "", "the inputs of named modules go to host memory", ""},
    {"offload_modules", &Knobs::offload_modules, since(Dialect::kMcore_0_16_1), "Offload", "list of labels", "the modules of fine-grained offload", ""},
    {"min_offloaded_tensor_size", &Knobs::min_offloaded_tensor_size, since(Dialect::kMcore_0_16_1), "Offload", "elements, 0 or more", "smaller tensors stay on the device", ""},
    {"delta_offload_bytes_across_pp_ranks", &Knobs::delta_offload_bytes_across_pp_ranks, since(Dialect::kMcore_0_19_2), "Offload", "bytes, 0 or more", "rank r keeps r times as many bytes on the device", ""},
    {"activation_offload_fraction", &Knobs::activation_offload_fraction, since(Dialect::kMcore_0_19_2), "Offload", "0 to 1", "share of the eligible groups of a chunk that is offloaded", ""},
    {"delay_offload_until_cuda_graph", &Knobs::delay_offload_until_cuda_graph, since(Dialect::kMcore_0_19_2), "Offload", "", "copies to the host start after a graph's replay", ""},
    {"fine_grained_offloading_max_inflight_offloads", &Knobs::fine_grained_offloading_max_inflight_offloads, since(Dialect::kMcore_0_18_2), "Offload", "0 or more", "copies of one module that may be under way", ""},
    {"moe_paged_stash", &Knobs::moe_paged_stash, since(Dialect::kMcore_0_18_2), "Offload", "", "expert activations are kept in paged buffers", ""},
    // CUDA graphs.
    {"enable_cuda_graph", &Knobs::enable_cuda_graph, kEverywhere, "CUDA graphs", "", "deprecated: cuda_graph_impl=local", ""},
    {"external_cuda_graph", &Knobs::external_cuda_graph, kEverywhere, "CUDA graphs", "", "deprecated: cuda_graph_impl=transformer_engine", ""},
    {"cuda_graph_impl", &Knobs::cuda_graph_impl, since(Dialect::kMcore_0_15_3), "CUDA graphs", "none, local, transformer_engine, full_iteration", "who captures CUDA graphs", ""},
    {"cuda_graph_scope", &Knobs::cuda_graph_scope, kEverywhere, "CUDA graphs", "list of modules", "what a graph captures; since 0.18 another name of cuda_graph_modules", ""},
    {"cuda_graph_modules", &Knobs::cuda_graph_modules, since(Dialect::kMcore_0_18_2), "CUDA graphs", "list of attn, mlp, moe, moe_router, moe_preprocess, mamba", "what a graph captures; empty: whole layers", ""},
    {"inference_cuda_graph_scope", &Knobs::inference_cuda_graph_scope, since(Dialect::kMcore_0_18_2), "CUDA graphs", "none, layer, block", "what a graph captures at inference", ""},
    {"cuda_graph_warmup_steps", &Knobs::cuda_graph_warmup_steps, kEverywhere, "CUDA graphs", "0 or more", "eager steps before the capture", ""},
    // Parallelism and schedule.
    {"tensor_model_parallel_size", &Knobs::tensor_model_parallel_size, kEverywhere, "Parallelism and schedule", "1 or more", "ranks that share each layer's weights", "tp"},
    {"pipeline_model_parallel_size", &Knobs::pipeline_model_parallel_size, kEverywhere, "Parallelism and schedule", "1 or more", "ranks that share the layers in order", "pp"},
    {"virtual_pipeline_model_parallel_size", &Knobs::virtual_pipeline_model_parallel_size, kEverywhere, "Parallelism and schedule", "1 or more", "model chunks a pipeline rank", "vpp,vp"},
    {"context_parallel_size", &Knobs::context_parallel_size, kEverywhere, "Parallelism and schedule", "1 or more", "ranks that share the sequence", "cp"},
    {"expert_model_parallel_size", &Knobs::expert_model_parallel_size, kEverywhere, "Parallelism and schedule", "1 or more", "ranks that share the experts", "ep"},
    {"expert_tensor_parallel_size", &Knobs::expert_tensor_parallel_size, kEverywhere, "Parallelism and schedule", "1 or more", "ranks that share each expert's weights", "etp,et"},
    {"sequence_parallel", &Knobs::sequence_parallel, kEverywhere, "Parallelism and schedule", "", "norms and dropouts split over the tensor-parallel ranks", "sp"},
    {"pipeline_dtype", &Knobs::pipeline_dtype, kEverywhere, "Parallelism and schedule", "a torch dtype", "type of what pipeline ranks send each other", ""},
    {"num_layers_in_first_pipeline_stage", &Knobs::num_layers_in_first_pipeline_stage, kEverywhere, "Parallelism and schedule", "1 or more", "layers of the first rank where they are split unevenly", "decoder_first_pipeline_num_layers"},
    {"num_layers_in_last_pipeline_stage", &Knobs::num_layers_in_last_pipeline_stage, kEverywhere, "Parallelism and schedule", "1 or more", "layers of the last rank where they are split unevenly", "decoder_last_pipeline_num_layers"},
    {"account_for_embedding_in_pipeline_split", &Knobs::account_for_embedding_in_pipeline_split, kEverywhere, "Parallelism and schedule", "", "the embedding counts as a layer of the split", ""},
    {"account_for_loss_in_pipeline_split", &Knobs::account_for_loss_in_pipeline_split, kEverywhere, "Parallelism and schedule", "", "the loss counts as a layer of the split", ""},
    {"pipeline_model_parallel_layout", &Knobs::pipeline_model_parallel_layout, since(Dialect::kMcore_0_13_1), "Parallelism and schedule", "a layout such as Et*3|(tt|)*14tmL", "which layers stand on which chunk", ""},
    {"microbatch_group_size_per_vp_stage", &Knobs::microbatch_group_size_per_vp_stage, kEverywhere, "Parallelism and schedule", "pipeline size or more", "micro-batches of one chunk before the next chunk's", ""},
    {"overlap_p2p_comm", &Knobs::overlap_p2p_comm, kEverywhere, "Parallelism and schedule", "", "sends between pipeline ranks overlap with compute", ""},
    {"batch_p2p_comm", &Knobs::batch_p2p_comm, kEverywhere, "Parallelism and schedule", "", "sends and receives are posted together", ""},
    {"overlap_p2p_comm_warmup_flush", &Knobs::overlap_p2p_comm_warmup_flush, kEverywhere, "Parallelism and schedule", "", "overlap in warm-up and flush as well", ""},
    {"defer_embedding_wgrad_compute", &Knobs::defer_embedding_wgrad_compute, kEverywhere, "Parallelism and schedule", "", "the output layer's weight gradient is computed in the pipeline flush", ""},
    {"wgrad_deferral_limit", &Knobs::wgrad_deferral_limit, kEverywhere, "Parallelism and schedule", "0 or more", "micro-batches whose weight gradient is deferred", ""},
    {"gradient_accumulation_fusion", &Knobs::gradient_accumulation_fusion, kEverywhere, "Parallelism and schedule", "", "weight gradients are added up by the GEMM", ""},
    {"variable_seq_lengths", &Knobs::variable_seq_lengths, kEverywhere, "Parallelism and schedule", "", "sequence length differs between micro-batches", ""},
    {"overlap_moe_expert_parallel_comm", &Knobs::overlap_moe_expert_parallel_comm, since(Dialect::kMcore_0_14_0), "Parallelism and schedule", "", "expert all-to-all overlaps with another micro-batch's compute", ""},
    {"delay_wgrad_compute", &Knobs::delay_wgrad_compute, since(Dialect::kMcore_0_13_1), "Parallelism and schedule", "", "weight gradients are computed apart from input gradients", ""},
    {"overlap_dispatch_backward_with_experts_wgrad", &Knobs::overlap_dispatch_backward_with_experts_wgrad, since(Dialect::kMcore_0_18_2), "Parallelism and schedule", "", "dispatch backward overlaps with the experts' weight gradients", ""},
    {"ep_overlap_early_attn_memory_release", &Knobs::ep_overlap_early_attn_memory_release, since(Dialect::kMcore_0_16_1), "Parallelism and schedule", "", "attention's backward runs earlier, so that its activations go earlier", ""},
    {"tensor_parallel_num_weight_shards", &Knobs::tensor_parallel_num_weight_shards, since(Dialect::kMcore_0_19_2), "Parallelism and schedule", "tensor-parallel size or a multiple", "shards of each weight, gathered when needed", ""},
    {"expert_tensor_parallel_num_weight_shards", &Knobs::expert_tensor_parallel_num_weight_shards, since(Dialect::kMcore_0_19_2), "Parallelism and schedule", "expert tensor-parallel size or a multiple", "the same of experts", ""},
    // Precision.
    {"fp16", &Knobs::fp16, kEverywhere, "Precision", "", "half precision", ""},
    {"bf16", &Knobs::bf16, kEverywhere, "Precision", "", "bfloat16", ""},
    {"fp8", &Knobs::fp8, kEverywhere, "Precision", "e4m3, hybrid", "FP8 format of GEMMs", "fp8_format"},
    {"fp8_recipe", &Knobs::fp8_recipe, kEverywhere, "Precision", "delayed, tensorwise, mxfp8, blockwise, custom", "how FP8 is scaled", ""},
    {"fp8_param", &Knobs::fp8_param, kEverywhere, "Precision", "", "parameters are kept in FP8", "fp8_param_gather"},
    {"first_last_layers_bf16", &Knobs::first_last_layers_bf16, kEverywhere, "Precision", "", "the first and last layers stay in bfloat16", ""},
    {"num_layers_at_start_in_bf16", &Knobs::num_layers_at_start_in_bf16, kEverywhere, "Precision", "0 to the layers of a rank", "how many first layers", ""},
    {"num_layers_at_end_in_bf16", &Knobs::num_layers_at_end_in_bf16, kEverywhere, "Precision", "0 to the layers of a rank", "how many last layers", ""},
    {"fp8_quantizer_factory", &Knobs::fp8_quantizer_factory, since(Dialect::kMcore_0_16_1), "Precision", "a Python path", "the quantizers of recipe custom", ""},
    {"fp8_output_proj", &Knobs::fp8_output_proj, since(Dialect::kMcore_0_18_2), "Precision", "", "the output projection in FP8", ""},
    {"fp4", &Knobs::fp4, since(Dialect::kMcore_0_15_3), "Precision", "e2m1", "FP4 format of GEMMs", "fp4_format"},
    {"fp4_recipe", &Knobs::fp4_recipe, since(Dialect::kMcore_0_15_3), "Precision", "nvfp4, custom", "how FP4 is scaled", ""},
    {"fp4_param", &Knobs::fp4_param, since(Dialect::kMcore_0_15_3), "Precision", "", "parameters are kept in FP4", "fp4_param_gather"},
    {"fp4_quantizer_factory", &Knobs::fp4_quantizer_factory, since(Dialect::kMcore_0_16_1), "Precision", "a Python path", "the quantizers of recipe custom", ""},
    {"fp32_residual_connection", &Knobs::fp32_residual_connection, kEverywhere, "Precision", "", "the residual stream in float32", ""},
    {"activation_func_fp8_input_store", &Knobs::activation_func_fp8_input_store, kEverywhere, "Precision", "", "the activation's input is saved in FP8", ""},
    // Model.
    {"num_layers", &Knobs::num_layers, kEverywhere, "Model", "1 or more", "decoder layers", "layers"},
    {"hidden_size", &Knobs::hidden_size, kEverywhere, "Model", "1 or more", "width of the residual stream", ""},
    {"ffn_hidden_size", &Knobs::ffn_hidden_size, kEverywhere, "Model", "1 or more", "width of a dense MLP; null: 4 hidden sizes", ""},
    {"num_attention_heads", &Knobs::num_attention_heads, kEverywhere, "Model", "1 or more", "attention heads", ""},
    {"num_query_groups", &Knobs::num_query_groups, kEverywhere, "Model", "1 or more", "key/value heads; null: one a head", ""},
    {"kv_channels", &Knobs::kv_channels, kEverywhere, "Model", "1 or more", "width of a head; null: hidden size / heads", ""},
    {"attention_dropout", &Knobs::attention_dropout, kEverywhere, "Model", "0 to 1", "dropout on attention probabilities", ""},
    {"hidden_dropout", &Knobs::hidden_dropout, kEverywhere, "Model", "0 to 1", "dropout on the residual branches", ""},
    {"normalization", &Knobs::normalization, kEverywhere, "Model", "LayerNorm, RMSNorm", "kind of norm", ""},
    {"activation_func", &Knobs::activation_func, kEverywhere, "Model", "gelu, silu, relu, ...", "the MLP's activation", ""},
    {"gated_linear_unit", &Knobs::gated_linear_unit, kEverywhere, "Model", "", "the MLP has a gate (SwiGLU, GEGLU)", ""},
    {"add_bias_linear", &Knobs::add_bias_linear, kEverywhere, "Model", "", "linear layers have biases", ""},
    {"bias_activation_fusion", &Knobs::bias_activation_fusion, kEverywhere, "Model", "", "bias and activation in one kernel", ""},
    {"use_te_activation_func", &Knobs::use_te_activation_func, since(Dialect::kMcore_0_15_3), "Model", "", "TransformerEngine's activation", ""},
    {"fused_residual_rmsnorm", &Knobs::fused_residual_rmsnorm, since(Dialect::kMcore_0_17_1), "Model", "", "the residual add and RMSNorm in one kernel", ""},
    {"multi_latent_attention", &Knobs::multi_latent_attention, kEverywhere, "Model", "", "attention through low-rank latents (MLA)", ""},
    {"apply_rope_fusion", &Knobs::apply_rope_fusion, kEverywhere, "Model", "", "RoPE in one kernel", ""},
    {"rotary_interleaved", &Knobs::rotary_interleaved, kEverywhere, "Model", "", "RoPE turns neighbouring channels", ""},
    {"fused_single_qkv_rope", &Knobs::fused_single_qkv_rope, since(Dialect::kMcore_0_15_3), "Model", "", "RoPE on the joint QKV tensor", ""},
    {"attention_output_gate", &Knobs::attention_output_gate, since(Dialect::kMcore_0_16_1), "Model", "", "attention's output is gated", ""},
    {"cache_mla_latents", &Knobs::cache_mla_latents, since(Dialect::kMcore_0_14_0), "Model", "", "inference caches latents", ""},
    {"q_lora_rank", &Knobs::q_lora_rank, kEverywhere, "Model", "1 or more", "width of MLA's query latent", ""},
    {"kv_lora_rank", &Knobs::kv_lora_rank, kEverywhere, "Model", "1 or more", "width of MLA's key/value latent", ""},
    {"mla_down_proj_fusion", &Knobs::mla_down_proj_fusion, since(Dialect::kMcore_0_17_1), "Model", "", "MLA's down-projections in one GEMM", ""},
    {"rope_type", &Knobs::rope_type, kEverywhere, "Model", "yarn, rope", "MLA's rotary embedding", ""},
    {"experimental_attention_variant", &Knobs::experimental_attention_variant, since(Dialect::kMcore_0_16_1), "Model", "gated_delta_net, dsa; main: gdn, gdn2", "another attention in some layers", ""},
    {"linear_attention_freq", &Knobs::linear_attention_freq, since(Dialect::kMcore_0_16_1), "Model", "n, or a list of 0 and 1", "every n-th layer has softmax attention; in a list, those that are 0", ""},
    {"linear_conv_kernel_dim", &Knobs::linear_conv_kernel_dim, since(Dialect::kMcore_0_16_1), "Model", "1 or more", "width of the delta net's convolution", ""},
    {"linear_key_head_dim", &Knobs::linear_key_head_dim, since(Dialect::kMcore_0_16_1), "Model", "1 or more", "width of its keys", ""},
    {"linear_value_head_dim", &Knobs::linear_value_head_dim, since(Dialect::kMcore_0_16_1), "Model", "1 or more", "width of its values", ""},
    {"linear_num_key_heads", &Knobs::linear_num_key_heads, since(Dialect::kMcore_0_16_1), "Model", "1 or more", "its key heads", ""},
    {"linear_num_value_heads", &Knobs::linear_num_value_heads, since(Dialect::kMcore_0_16_1), "Model", "a multiple of the key heads", "its value heads", ""},
    {"enable_mhc_connections", &Knobs::enable_mhc_connections, kMain, "Model", "", "hyper-connections in place of the residual stream", ""},
    {"mtp_num_layers", &Knobs::mtp_num_layers, kEverywhere, "Model", "0 or more", "layers of multi-token prediction", ""},
    {"transformer_impl", &Knobs::transformer_impl, since(Dialect::kMcore_0_14_0), "Model", "local, transformer_engine, inference_optimized", "whose layers", ""},
    {"attention_backend", &Knobs::attention_backend, kEverywhere, "Model", "auto, fused, flash, unfused, local", "kernel of attention", ""},
    // Mixture of Experts.
    {"num_moe_experts", &Knobs::num_moe_experts, kEverywhere, "Mixture of Experts", "1 or more", "experts; null: every layer is dense", "num_experts"},
    {"moe_ffn_hidden_size", &Knobs::moe_ffn_hidden_size, kEverywhere, "Mixture of Experts", "1 or more", "width of an expert", ""},
    {"moe_layer_freq", &Knobs::moe_layer_freq, kEverywhere, "Mixture of Experts", "n, or a list of 0 and 1", "which layers have experts", ""},
    {"moe_router_topk", &Knobs::moe_router_topk, kEverywhere, "Mixture of Experts", "1 or more", "experts a token is sent to", ""},
    {"moe_router_score_function", &Knobs::moe_router_score_function, kEverywhere, "Mixture of Experts", "softmax, sigmoid, sqrtsoftplus", "the router's scores", ""},
    {"moe_router_pre_softmax", &Knobs::moe_router_pre_softmax, kEverywhere, "Mixture of Experts", "", "softmax before the choice", ""},
    {"moe_router_load_balancing_type", &Knobs::moe_router_load_balancing_type, kEverywhere, "Mixture of Experts", "aux_loss, seq_aux_loss, global_aux_loss, sinkhorn, none", "the router's balance", ""},
    {"moe_router_enable_expert_bias", &Knobs::moe_router_enable_expert_bias, kEverywhere, "Mixture of Experts", "", "balance by a bias an expert", ""},
    {"moe_grouped_gemm", &Knobs::moe_grouped_gemm, kEverywhere, "Mixture of Experts", "", "the experts' GEMMs in one kernel", ""},
    {"use_transformer_engine_op_fuser", &Knobs::use_transformer_engine_op_fuser, since(Dialect::kMcore_0_18_2), "Mixture of Experts", "", "TransformerEngine's fused operations", ""},
    {"moe_shared_expert_intermediate_size", &Knobs::moe_shared_expert_intermediate_size, kEverywhere, "Mixture of Experts", "1 or more", "width of the shared experts; null: there are none", ""},
    {"moe_shared_expert_overlap", &Knobs::moe_shared_expert_overlap, kEverywhere, "Mixture of Experts", "", "shared experts overlap with dispatch", ""},
    {"moe_token_dispatcher_type", &Knobs::moe_token_dispatcher_type, kEverywhere, "Mixture of Experts", "allgather, alltoall, flex", "how tokens travel", ""},
    {"moe_enable_deepep", &Knobs::moe_enable_deepep, kEverywhere, "Mixture of Experts", "", "deprecated: moe_flex_dispatcher_backend=deepep", ""},
    {"moe_flex_dispatcher_backend", &Knobs::moe_flex_dispatcher_backend, since(Dialect::kMcore_0_16_1), "Mixture of Experts", "deepep, hybridep, ncclep", "library of the flex dispatcher", ""},
    {"moe_expert_capacity_factor", &Knobs::moe_expert_capacity_factor, kEverywhere, "Mixture of Experts", "above 0; below 0 means null", "tokens an expert takes, as a multiple of an even share", ""},
    {"moe_pad_expert_input_to_capacity", &Knobs::moe_pad_expert_input_to_capacity, kEverywhere, "Mixture of Experts", "", "experts always get their capacity", ""},
    {"moe_expert_rank_capacity_factor", &Knobs::moe_expert_rank_capacity_factor, since(Dialect::kMcore_0_18_2), "Mixture of Experts", "above 0", "tokens a rank takes, as a multiple of an even share", ""},
    {"moe_router_padding_for_fp8", &Knobs::moe_router_padding_for_fp8, since(Dialect::kMcore_0_13_1), "Mixture of Experts", "", "token counts are padded for FP8", ""},
    {"moe_router_padding_for_quantization", &Knobs::moe_router_padding_for_quantization, since(Dialect::kMcore_0_16_1), "Mixture of Experts", "", "token counts are padded for FP8 and FP4", ""},
    {"moe_input_jitter_eps", &Knobs::moe_input_jitter_eps, kEverywhere, "Mixture of Experts", "above 0", "random factor on the router's input", ""},
    // Run.
    {"micro_batch_size", &Knobs::micro_batch_size, kRun, "Run", "1 or more", "sequences a micro-batch", "mbs"},
    {"global_batch_size", &Knobs::global_batch_size, kRun, "Run", "a multiple of micro-batch times data-parallel size", "sequences a step", "gbs"},
    {"seq_length", &Knobs::seq_length, kRun, "Run", "1 or more", "tokens a sequence", "seq"},
    {"te_version", &Knobs::te_version, kRun, "Run", "a version, recent, or null", "TransformerEngine's version; null: it is not installed", ""},
};

struct Bystanders {
  DialectSet dialects;
  std::string_view names;  // by blanks
};
constexpr Bystanders kBystanders[] = {
    {kEverywhere,
     "add_qkv_bias apply_query_key_layer_scaling apply_residual_connection_post_layernorm "
     "attention_softmax_in_fp32 autocast_dtype barrier_with_L1_time batch_p2p_sync beta_fast "
     "beta_slow bias_dropout_fusion calculate_per_token_loss clone_scatter_output_in_embedding "
     "config_logger_dir cp_comm_type cross_entropy_fusion_impl cross_entropy_loss_fusion "
     "cuda_graph_retain_backward_graph cuda_graph_use_single_mempool "
     "deallocate_pipeline_outputs deterministic_mode disable_bf16_reduced_precision_matmul "
     "disable_parameter_transpose_cache enable_autocast finalize_model_grads_func flash_decode "
     "fp8_amax_compute_algo fp8_amax_history_len fp8_dot_product_attention fp8_interval "
     "fp8_margin fp8_multi_head_attention fp8_wgrad grad_scale_func grad_sync_func "
     "heterogeneous_block_specs hierarchical_context_parallel_sizes inference_rng_tracker "
     "init_method init_method_std init_model_with_meta_device is_hybrid_model layernorm_epsilon "
     "layernorm_zero_centered_gamma mamba_head_dim mamba_num_groups mamba_state_dim "
     "masked_softmax_fusion memory_efficient_layer_norm moe_apply_probs_on_input "
     "moe_aux_loss_coeff moe_per_layer_logging moe_permute_fusion moe_router_bias_update_rate "
     "moe_router_dtype moe_router_group_topk moe_router_num_groups "
     "moe_router_topk_limited_devices moe_router_topk_scaling_factor moe_token_drop_policy "
     "moe_token_dropping moe_z_loss_coeff mrope_section mscale mscale_all_dim "
     "mtp_loss_scaling_factor no_sync_func output_layer_init_method param_sync_func "
     "params_dtype perform_initialization persist_layer_norm "
     "pipeline_model_parallel_comm_backend qk_head_dim qk_layernorm qk_pos_emb_head_dim "
     "rotary_base rotary_percent rotary_scaling_factor softmax_scale test_mode timers "
     "tp_comm_atomic_ag tp_comm_atomic_rs tp_comm_bootstrap_backend tp_comm_bulk_dgrad "
     "tp_comm_bulk_wgrad tp_comm_overlap tp_comm_overlap_ag tp_comm_overlap_disable_fc1 "
     "tp_comm_overlap_disable_qkv tp_comm_overlap_rs tp_comm_overlap_rs_dgrad tp_comm_split_ag "
     "tp_comm_split_rs tp_only_amax_red use_cpu_initialization use_ring_exchange_p2p "
     "use_te_rng_tracker v_head_dim window_size"},
    {DialectSet::range(Dialect::kMcore_0_12_3, Dialect::kMcore_0_16_1),
     "async_tensor_model_parallel_allreduce moe_extended_tp moe_use_legacy_grouped_gemm"},
    {DialectSet::range(Dialect::kMcore_0_12_3, Dialect::kMcore_0_13_1),
     "max_position_embeddings pipeline_model_parallel_split_rank"},
    {since(Dialect::kMcore_0_13_1),
     "hetereogenous_dist_checkpoint mamba_num_heads mlp_chunks_for_prefill moe_deepep_num_sms "
     "moe_router_force_load_balancing no_rope_freq quant_recipe symmetric_ar_type use_kitchen "
     "use_mamba_mem_eff_path"},
    {since(Dialect::kMcore_0_14_0),
     "embedding_init_method embedding_init_method_std moe_router_fusion "
     "original_max_position_embeddings use_fused_weighted_squared_relu"},
    {since(Dialect::kMcore_0_15_3),
     "activation_func_clamp_value glu_linear_offset inference_sampling_seed softmax_type "
     "window_attn_skip_freq"},
    {since(Dialect::kMcore_0_16_1),
     "batch_invariant_mode dsa_indexer_head_dim dsa_indexer_loss_coeff dsa_indexer_n_heads "
     "dsa_indexer_topk dsa_indexer_use_sparse_loss hybrid_context_parallel "
     "inference_fuse_tp_communication kitchen_attention_backend log_max_attention_logit "
     "max_seqlen_per_dp_cp_rank moe_enable_routing_replay moe_hybridep_num_sms moe_latent_size "
     "moe_shared_expert_gate mtp_standalone qk_clip qk_clip_alpha qk_clip_threshold qk_l2_norm "
     "use_inference_optimized_layers use_kitchen_attention"},
    {since(Dialect::kMcore_0_17_1),
     "inference_disable_triton_nvls_kernels inference_grouped_gemm_backend "
     "inference_moe_disable_fused_quant_kernels moe_hybridep_num_blocks_permute "
     "moe_hybridep_num_blocks_unpermute moe_pad_experts_for_cuda_graph_inference "
     "moe_permute_fusion_into_hybridep moe_router_force_biased mtp_hybrid_override_pattern "
     "mtp_use_repeated_layer mup_attn_scale_power mup_base_head_dim mup_base_hidden_size "
     "mup_embedding_mult mup_output_mult mup_width_mult nccl_all_reduce_for_prefill use_mup"},
    {since(Dialect::kMcore_0_18_2),
     "high_priority_a2a_comm_stream inference_moe_token_dispatcher_type mlp_chunks_for_training "
     "moe_hybridep_num_sms_preprocessing moe_mlp_glu_interleave_size "
     "moe_paged_stash_buffer_size_factor_cpu moe_paged_stash_buffer_size_factor_cuda "
     "moe_paged_stash_page_size moe_single_grouped_bias moe_single_grouped_weight "
     "use_grouped_gemm_for_dense_mlp"},
    {since(Dialect::kMcore_0_19_2),
     "dsa_indexer_k_norm_epsilon dsa_indexer_k_norm_fp32 dsa_indexer_rope_interleaved "
     "dsa_indexer_rotate_activation dsa_indexer_scoring_relu dsa_indexer_skip_topk_offset "
     "dsa_indexer_topk_freq dsa_kernel_backend experimental_attention_variant_loss_scale_func "
     "expert_gtp_weight_remat_size flash_attention_version gtp_weight_remat_size "
     "mamba_training_ssm_states_dtype moe_flex_dispatcher_num_sms moe_grad_scale_func "
     "moe_hybridep_pad_uneven_dispatch_inputs moe_ncclep_static_shape moe_ncclep_zero_copy "
     "moe_router_quantile_balancing_ema moe_shared_expert_glu_interleave_size mtp_detach_heads "
     "mtp_grad_scale_func use_grouped_gemm_for_shared_expert"},
};
// clang-format on

std::string with_underscores(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

using NameMap = std::unordered_map<std::string, const Knob*>;

const NameMap& knobs_by_name() {
  static const NameMap map = [] {
    NameMap made;
    for (const Knob& knob : kTable) {
      made.emplace(knob.name, &knob);
      if (knob.aliases.empty()) continue;
      for (const std::string& alias : split(knob.aliases, ',')) made.emplace(alias, &knob);
    }
    return made;
  }();
  return map;
}

const std::unordered_map<std::string, DialectSet>& bystanders() {
  static const std::unordered_map<std::string, DialectSet> map = [] {
    std::unordered_map<std::string, DialectSet> made;
    for (const Bystanders& some : kBystanders) {
      for (const std::string& name : split(some.names, ' ')) made.emplace(name, some.dialects);
    }
    return made;
  }();
  return map;
}

}  // namespace

std::span<const Knob> knob_table() { return kTable; }

const Knob* find_knob(std::string_view name) {
  const auto found = knobs_by_name().find(with_underscores(name));
  return found == knobs_by_name().end() ? nullptr : found->second;
}

DialectSet bystander_dialects(std::string_view name) {
  const auto found = bystanders().find(with_underscores(name));
  return found == bystanders().end() ? DialectSet() : found->second;
}

Knobs defaults_of(Dialect dialect) {
  Knobs knobs;
  if (dialect <= Dialect::kMcore_0_14_0) knobs.cpu_offloading_weights = true;
  if (dialect <= Dialect::kMcore_0_15_3) knobs.distribute_saved_activations = std::nullopt;
  if (dialect <= Dialect::kMcore_0_17_1) {
    knobs.cuda_graph_scope = WordList{{"full"}, true};
    knobs.cuda_graph_modules = std::nullopt;
  }
  return knobs;
}

}  // namespace refrain::config
