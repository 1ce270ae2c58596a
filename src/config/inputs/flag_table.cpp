// Sources: Megatron-LM's arguments.py and argument_utils.py (core_transformer_config_from_args),
// and Megatron-Bridge's scripts/performance (argument_parser.py, utils/overrides.py). Where the
// harness and Megatron-LM share a name, underscores are the harness's spelling and dashes
// Megatron-LM's.
#include "config/inputs/flag_table.h"

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
      {"--fp8-format", K::kWord, {{"fp8"}}},
      {"--fp8-param-gather", K::kSwitch, {{"fp8_param"}}},
      {"--fp4-format", K::kWord, {{"fp4"}}},
      {"--fp4-param-gather", K::kSwitch, {{"fp4_param"}}},
      {"--num-experts", K::kWhole, {{"num_moe_experts"}}},
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
      {"--num-virtual-stages-per-pipeline-rank",
       K::kWhole,
       {{"virtual_pipeline_model_parallel_size"},
        {"virtual_pipeline_model_parallel_size", "null", W::kOne}}},
      {"--microbatch-group-size-per-virtual-pipeline-stage",
       K::kWhole,
       {{"microbatch_group_size_per_vp_stage"}}},
      {"--decoder-first-pipeline-num-layers", K::kWhole, {{"num_layers_in_first_pipeline_stage"}}},
      {"--decoder-last-pipeline-num-layers", K::kWhole, {{"num_layers_in_last_pipeline_stage"}}},
      {"--pipeline-model-parallel-layout,--pipeline_model_parallel_layout",
       K::kText,
       {{"pipeline_model_parallel_layout"}}},
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
       {{"cuda_graph_modules", kOwnValue, W::kAlways, R::kV0_5},
        {"cuda_graph_scope", kOwnValue, W::kAlways, R::kV0_2, R::kV0_3}},
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
      {"-et,--expert_tensor_parallel_size", K::kOptional, {{"expert_tensor_parallel_size"}}},
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
       K::kWord,
       {{"moe_flex_dispatcher_backend", kOwnValue, W::kNotNone},
        {"moe_flex_dispatcher_backend", kRemoved, W::kNone},
        {"moe_token_dispatcher_type", "alltoall", W::kNone},
        {"moe_token_dispatcher_type", "flex", W::kNotNone},
        {"moe_shared_expert_overlap", "false", W::kNotNone}}},
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
      {"-m,--model_family_name,-mr,--model_recipe_name,-ng,--num_gpus,-g,--gpu,-gn,--gpus_per_node,"
       "-c,--compute_dtype,--task,--domain,-cv,--config_variant,--optimizer_type,-a,--account,-p,"
       "--partition,-t,--time_limit,-i,--container_image,-cm,--custom_mounts,-ce,--custom_env_vars,"
       "-E,--env,-cs,--custom_srun_args,-cb,--custom_bash_cmds,--gres,--packager,--preempt_time,"
       "--detach,--max_retries,-nh,--nemo_home,-hf,--hf_token,-l,--log_dir,--save_config_filepath,"
       "--additional_slurm_params,--data,--distributed_timeout_minutes,-wdk,--wandb_key,-wdp,"
       "--wandb_project_name,-wde,--wandb_entity_name,-wdj,--wandb_experiment_name,-wds,"
       "--wandb_save_dir,-pyp,--pytorch_profiler,-mh,--record_memory_history,-vb,--enable_vboost,"
       "-lgc,--lock_gpu_freq,-lmc,--peak_mem_clk,--profiling_start_step,--profiling_stop_step,"
       "--profiling_ranks,--nsys_trace,--nsys_extra_args,--golden_values_path,--timing_threshold,"
       "--memory_threshold,--eval_time_start_step,--eval_time_end_step",
       K::kNotAKnob,
       {}},
      {"--use_recipes,-d,--dryrun,--list_config_variants,--deterministic,-en,--enable_nsys,"
       "--profiling_gpu_metrics,--export_nsys_sqlite,--offline,--dump_env,--is_long_convergence_"
       "run,"
       "--retry_on_testing_failure",
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
    std::vector<FlagRow> all;
    for (const auto& part : {megatron_rows(), harness_rows(), launcher_rows()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
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
