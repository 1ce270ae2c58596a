// Sources: Megatron-LM's arguments.py and argument_utils.py (core_transformer_config_from_args),
// and Megatron-Bridge's scripts/performance (argument_parser.py, utils/overrides.py). Where the
// harness and Megatron-LM share a name, underscores are the harness's spelling and dashes
// Megatron-LM's.
#include "config/inputs/flags/flag_table.h"

#include <unordered_map>

#include "base/finding.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using K = FlagKind;
using R = HarnessRevision;
using W = When;

std::vector<FlagRow> megatron_rows() {
  return {
      // It overwrites an explicit full wherever it stands: validate_args looks at it last.
      {"--recompute-activations", K::kSwitch, {{"recompute_granularity", "selective"}}, 9},
      {"--recompute-modules", K::kWords, {{"recompute_modules"}}},
      {"--offload-modules", K::kWords, {{"offload_modules"}}},
      {"--cuda-graph-modules", K::kWords, {{"cuda_graph_modules"}}},
      {"--cuda-graph-scope", K::kWords, {{"cuda_graph_scope"}}},
      {"--cpu-offloading-num-layers",
       K::kWhole,
       {{"cpu_offloading_num_layers"}, {"cpu_offloading", "true", W::kPositive}}},
      {"--checkpoint-activations", K::kGone, {}},
      // Flags that are older than the field, or that have outlived it.
      {"--transformer-impl", K::kText, {{"transformer_impl"}}, 0, {}, true},
      {"--max-position-embeddings", K::kWhole, {{"max_position_embeddings"}}, 0, {}, true},
      {"--nccl-all-reduce-for-prefill", K::kSwitch, {{"nccl_all_reduce_for_prefill"}}, 0, {}, true},
      {"--qk-l2-norm", K::kSwitch, {{"qk_l2_norm"}}, 0, {}, true},
      {"--moe-pad-experts-for-cuda-graph-inference",
       K::kSwitch,
       {{"moe_pad_experts_for_cuda_graph_inference"}},
       0,
       {},
       true},
      {"--sequence-parallel", K::kSwitch, {}},
      {"--defer-embedding-wgrad-compute",
       K::kSwitch,
       {{"defer_embedding_wgrad_compute"}, {"gradient_accumulation_fusion", "true"}},
       -1},
      {"--fp8-format", K::kWord, {{"fp8"}}},
      {"--fp8-param-gather", K::kSwitch, {{"fp8_param"}}},
      {"--fp4-format", K::kWord, {{"fp4"}}},
      {"--fp4-param-gather", K::kSwitch, {{"fp4_param"}}},
      {"--num-experts", K::kWhole, {{"num_moe_experts"}}},
      {"--group-query-attention", K::kSwitch, {}},
      {"--num-query-groups", K::kWhole, {{"num_query_groups"}}, 0, "--group-query-attention"},
      // What pipeline ranks send each other is of the parameters' type.
      {"--pipeline-model-parallel-size",
       K::kWhole,
       {{"pipeline_model_parallel_size"}, {"pipeline_dtype", "float32", W::kAboveOne}},
       -1},
      {"--bf16", K::kSwitch, {{"bf16"}, {"pipeline_dtype", "bfloat16"}}},
      {"--fp16", K::kSwitch, {{"fp16"}, {"pipeline_dtype", "float16"}}},
      {"--no-bias-gelu-fusion,--no-bias-swiglu-fusion", K::kOff, {{"bias_activation_fusion"}}},
      {"--moe-layer-freq", K::kFrequency, {{"moe_layer_freq"}}},
      {"--linear-attention-freq", K::kFrequency, {{"linear_attention_freq"}}},
      {"--window-attn-skip-freq", K::kFrequency, {{"window_attn_skip_freq"}}},
      {"--no-rope-freq", K::kFrequency, {{"no_rope_freq"}}},
      {"--swiglu", K::kSwitch, {{"gated_linear_unit"}, {"activation_func", "silu"}}},
      {"--quick-geglu", K::kSwitch, {{"gated_linear_unit"}, {"activation_func", "quick_gelu"}}},
      {"--squared-relu", K::kSwitch, {{"activation_func", "squared_relu"}}},
      {"--disable-bias-linear", K::kOff, {{"add_bias_linear"}}},
      {"--norm-epsilon", K::kWord, {{"layernorm_epsilon"}}},
      {"--apply-layernorm-1p", K::kSwitch, {{"layernorm_zero_centered_gamma"}}},
      {"--no-rope-fusion", K::kOff, {{"apply_rope_fusion"}}},
      {"--no-initialization", K::kOff, {{"perform_initialization"}}},
      {"--no-barrier-with-level-1-timing", K::kOff, {{"barrier_with_L1_time"}}},
      {"--disable-mamba-mem-eff-path", K::kOff, {{"use_mamba_mem_eff_path"}}},
      {"--te-rng-tracker", K::kSwitch, {{"use_te_rng_tracker"}}},
      {"--no-overlap-p2p-communication",
       K::kOff,
       {{"overlap_p2p_comm"}, {"batch_p2p_comm", "true"}}},
      {"--overlap-p2p-communication-warmup-flush", K::kSwitch, {{"overlap_p2p_comm_warmup_flush"}}},
      {"--num-layers-per-virtual-pipeline-stage,--num-virtual-stages-per-pipeline-rank",
       K::kWhole,
       {},
       -1},
      {"--microbatch-group-size-per-virtual-pipeline-stage",
       K::kWhole,
       {{"microbatch_group_size_per_vp_stage"}}},
      {"--decoder-first-pipeline-num-layers", K::kWhole, {{"num_layers_in_first_pipeline_stage"}}},
      {"--decoder-last-pipeline-num-layers", K::kWhole, {{"num_layers_in_last_pipeline_stage"}}},
      {"--pipeline-model-parallel-layout,--pipeline_model_parallel_layout",
       K::kText,
       {{"pipeline_model_parallel_layout"}},
       -1},
  };
}

// The harness applies offload, then layers, then modules, in whatever order they are typed.
std::vector<FlagRow> harness_rows() {
  return {
      {"-ol,--activation_offload_layers",
       K::kWhole,
       {{"cpu_offloading", "true", W::kPositive, R::kV0_5},
        {"cpu_offloading_weights", "false", W::kPositive, R::kV0_5},
        {"cpu_offloading_num_layers", kOwnValue, W::kPositive, R::kV0_5},
        {"cpu_offloading", "true", W::kAlways, R::kV0_2, R::kV0_3},
        {"cpu_offloading_weights", "false", W::kAlways, R::kV0_2, R::kV0_3},
        {"cpu_offloading_num_layers", kOwnValue, W::kAlways, R::kV0_2, R::kV0_3}},
       1},
      {"-rl,--recompute_num_layers",
       K::kWhole,
       {{"recompute_granularity", "full"}, {"recompute_method", "block"}, {"recompute_num_layers"}},
       2},
      {"--recompute_modules",
       K::kCommaWords,
       {{"recompute_modules"}, {"recompute_granularity", "selective", W::kAlways, R::kV0_3}},
       3},
      // Modules that a recipe has would turn graphs on again (full_iteration does).
      {"--cuda_graph_impl",
       K::kText,
       {{"cuda_graph_impl"},
        {"use_te_rng_tracker", "true", W::kNotNone},
        {"rng.te_rng_tracker", "true", W::kNotNone},
        {"use_te_rng_tracker", "false", W::kNone},
        {"rng.te_rng_tracker", "false", W::kNone},
        {"cuda_graph_modules", kRemoved, W::kNone},
        {"cuda_graph_scope", kRemoved, W::kNone}},
       1},
      {"--cuda_graph_scope",
       K::kCommaWords,
       {{"cuda_graph_scope", kOwnValue, W::kAlways, R::kV0_2, R::kV0_3}},
       2},
      {"-tp,--tensor_model_parallel_size",
       K::kWhole,
       {{"tensor_model_parallel_size"},
        {"sequence_parallel", "true", W::kAboveOne},
        {"sequence_parallel", "false", W::kAtMostOne}}},
      {"-pp,--pipeline_model_parallel_size", K::kWhole, {{"pipeline_model_parallel_size"}}},
      // -1 is its default: what the recipe says.
      {"-vp,--virtual_pipeline_model_parallel_size",
       K::kWholeOrNone,
       {{"virtual_pipeline_model_parallel_size", kOwnValue, W::kNotMinusOne}}},
      {"-cp,--context_parallel_size", K::kWhole, {{"context_parallel_size"}}},
      {"-ep,--expert_model_parallel_size", K::kWhole, {{"expert_model_parallel_size"}}},
      // Alone it is None, which is its default: what the recipe says.
      {"-et,-etp,--expert_tensor_parallel_size",
       K::kOptional,
       {{"expert_tensor_parallel_size", kOwnValue, W::kNotNone}}},
      {"-mb,--micro_batch_size", K::kWhole, {{"micro_batch_size"}}},
      {"-gb,--global_batch_size", K::kWhole, {{"global_batch_size"}}},
      {"-sl,--seq_length", K::kWhole, {{"seq_length"}}},
      {"-ms,--max_steps", K::kWhole, {{"train.train_iters"}}},
      {"--moe_a2a_overlap",
       K::kYesNo,
       {{"overlap_moe_expert_parallel_comm", "true", W::kTrue},
        {"delay_wgrad_compute", "true", W::kTrue},
        {"moe_shared_expert_overlap", "false", W::kTrue}}},
      {"--moe_flex_dispatcher_backend",
       K::kTextOrNone,
       {{"moe_flex_dispatcher_backend", kOwnValue, W::kNotNone},
        {"moe_flex_dispatcher_backend", kRemoved, W::kNone},
        {"moe_token_dispatcher_type", "alltoall", W::kNone},
        {"moe_token_dispatcher_type", "flex", W::kNotNone},
        {"moe_shared_expert_overlap", "false", W::kNotNone}}},
      {"--first_k_dense_replace", K::kWhole, {}},
      {"--use_tokendrop",
       K::kYesNo,
       {{"moe_expert_capacity_factor", "1.0", W::kTrue},
        {"moe_expert_capacity_factor", "null", W::kFalse},
        {"moe_pad_expert_input_to_capacity"}}},
      {"--use_megatron_fsdp",
       K::kYesNo,
       {{"ddp.use_megatron_fsdp", "true", W::kTrue},
        {"init_model_with_meta_device", "true", W::kTrue},
        {"gradient_accumulation_fusion", "true", W::kTrue}}},
      {"--nccl_ub", K::kYesNo, {{"ddp.nccl_ub", "true", W::kTrue}}},
  };
}

// They choose a recipe and where it runs, profile it or judge its results.
std::vector<FlagRow> launcher_rows() {
  return {
      {"-m,--model_family_name,-mr,--model_recipe_name,-s,--model_name,--model_size,-ng,--num_gpus,"
       "-g,"
       "--gpu,-gn,--gpus_per_node,-c,--compute_dtype,--task,--domain,-cv,--config_variant,"
       "--optimizer_type,-a,--account,-p,--partition,-t,--time_limit,-i,--container_image,-cm,"
       "--custom_mounts,-ce,--custom_env_vars,-E,--env,-cs,--custom_srun_args,-cb,"
       "--custom_bash_cmds,--gres,--packager,--preempt_time,--detach,--max_retries,-nh,--nemo_home,"
       "-hf,--hf_token,--hf_path,-l,--log_dir,--save_config_filepath,--additional_slurm_params,--"
       "csp,"
       "--data,--dataset,--dataset_name,--dataset_root,--index_mapping_dir,--c4_root,"
       "--diffusion_dataset_path,--tokenizer_type,--tokenizer_model,--vocab_size,"
       "--pretrained_checkpoint,--megatron_ckpt,--load_dir,--save_dir,--save_interval,"
       "--most_recent_k,--lr,--min_lr,--warmup_iters,--peft_scheme,--step_func,--mode,"
       "--distributed_timeout_minutes,-wdk,--wandb_key,-wdp,--wandb_project_name,-wde,"
       "--wandb_entity_name,-wdj,--wandb_experiment_name,-wds,--wandb_save_dir,--wandb_exp_name,"
       "--wandb_prj_name,-pyp,--pytorch_profiler,-mh,--record_memory_history,-vb,--enable_vboost,"
       "--enable_pct_binding,-lgc,--lock_gpu_freq,-lmc,--peak_mem_clk,--profiling_start_step,"
       "--profiling_stop_step,--profiling_ranks,--nsys_trace,--nsys_extra_args,"
       "--golden_values_path,--timing_threshold,--memory_threshold,--correlation_threshold,"
       "--high_loss_tolerance,--medium_loss_tolerance,--low_loss_tolerance,--final_loss_tolerance,"
       "--max_outlier_ratio,--outlier_threshold,--skip_first_percent_loss,"
       "--skip_first_percent_time,--eval_time_start_step,--eval_time_end_step",
       K::kNotAKnob,
       {}},
      {"--dataset_paths,--c4_train_shards", K::kNotAKnobWords, {}},
      {"--use_recipes,-d,--dryrun,--dry_run,--list_config_variants,--deterministic,-en,--enable_"
       "nsys,"
       "--profiling_gpu_metrics,--export_nsys_sqlite,--offline,--dump_env,--head_only,"
       "--packed_sequence,--is_long_convergence_run,--retry_on_testing_failure",
       K::kNotAKnobSwitch,
       {}},
  };
}

using SpellingMap = std::unordered_map<std::string, const FlagRow*>;

const SpellingMap& rows_by_spelling() {
  static const SpellingMap map = [] {
    SpellingMap made;
    for (const FlagRow& row : flag_table()) {
      for (const std::string& spelling : split(row.spellings, ',')) made.emplace(spelling, &row);
    }
    return made;
  }();
  return map;
}

}  // namespace

const std::vector<FlagRow>& flag_table() {
  static const std::vector<FlagRow> rows = [] {
    std::vector<FlagRow> all = megatron_rows();
    for (FlagRow row : harness_rows()) {
      row.is_harness = true;
      all.push_back(std::move(row));
    }
    for (FlagRow row : launcher_rows()) all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

const FlagRow* find_flag(std::string_view flag) {
  const auto found = rows_by_spelling().find(std::string(flag));
  return found == rows_by_spelling().end() ? nullptr : found->second;
}

std::optional<std::string> nearest_flag(std::string_view flag) {
  constexpr size_t kLongest = 40;  // no spelling is as long, and to compare costs the product
  if (flag.size() > kLongest) return {};
  std::vector<std::string> spellings;
  for (const FlagRow& row : flag_table()) {
    for (std::string& spelling : split(row.spellings, ','))
      spellings.push_back(std::move(spelling));
  }
  return nearest(flag, spellings);
}

}  // namespace refrain::config
