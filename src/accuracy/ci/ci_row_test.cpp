#include "accuracy/ci/ci_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace refrain::accuracy {
namespace {

using Cells = std::map<std::string, std::string>;

/// A small GPT on one node, with these cells instead of its own.
Checked<Sample> read(const Cells& changes) {
  Cells cells = {{"case", "gpt/small"},
                 {"platform", "dgx_h100"},
                 {"environment", "dev"},
                 {"num_gpus", "8"},
                 {"num-layers", "12"},
                 {"hidden-size", "512"},
                 {"num-attention-heads", "8"},
                 {"seq-length", "1024"},
                 {"micro-batch-size", "4"},
                 {"global-batch-size", "32"},
                 {"train-iters", "50"},
                 {"bf16", "True"},
                 {"peak_allocated_bytes_max", "1000000000"},
                 {"iteration_time_s_median", "0.25"}};
  for (const auto& [column, cell] : changes) cells[column] = cell;
  Table table{.rows = {{}}};
  for (const auto& [column, cell] : cells) {
    table.columns.push_back(column);
    table.rows[0].push_back(cell);
  }
  return read_ci_row(table, 0);
}

mcore::Run run_of(const Cells& changes) {
  const Checked<Sample> sample = read(changes);
  EXPECT_TRUE(sample.value) << to_text(sample.findings);
  return sample.value.value_or(Sample()).run;
}

/// Rules that refuse the row.
std::vector<std::string> refusals(const Cells& changes) {
  const Checked<Sample> sample = read(changes);
  EXPECT_EQ(sample.value.has_value(), sample.findings.empty());
  std::vector<std::string> rules;
  for (const Finding& finding : sample.findings) rules.push_back(finding.rule);
  return rules;
}

const std::vector<std::string> kBadCell = {"accuracy.bad-cell"};
const std::vector<std::string> kSizes = {"accuracy.sizes"};

TEST(CiRow, WhatARowLeavesOutIsAtMegatronsDefault) {
  const Sample sample = read({}).value.value();
  const mcore::Run& run = sample.run;
  EXPECT_EQ(sample.name, "gpt/small dgx_h100 dev");
  EXPECT_EQ(sample.family, "data parallel");
  EXPECT_EQ(run.model.layers.size(), 12u);
  EXPECT_EQ(run.model.ffn, 2048);
  EXPECT_EQ(run.model.attention.head_dim, 64);
  EXPECT_EQ(run.model.attention.num_query_groups, 8);
  EXPECT_EQ(run.model.vocab, 50257);
  EXPECT_EQ(run.model.max_positions, 1024);
  EXPECT_EQ(run.model.positions, mcore::Model::Positions::kLearned);
  EXPECT_EQ(run.model.hidden_dropout, 0.1);
  EXPECT_TRUE(run.model.tied_embeddings);
  EXPECT_TRUE(run.model.linear_bias);
  EXPECT_FALSE(run.model.rms_norm);
  EXPECT_EQ(run.parallel.data, 8);
  EXPECT_EQ(run.parallel.virtual_stages, 1);
  EXPECT_TRUE(run.batch.attention_mask);
  EXPECT_EQ(run.numerics.gradient_bytes, 4);
  EXPECT_TRUE(run.numerics.gradient_fusion);
  EXPECT_FALSE(run.optimizer.distributed);
  EXPECT_EQ(run.optimizer.name, "adam");
  EXPECT_EQ(run.recompute.method, mcore::Recompute::Method::kNone);
  EXPECT_EQ(run.place.device, "h100-80gb");
  EXPECT_TRUE(run.place.transformer_engine);
  EXPECT_TRUE(run.place.graphs.empty());
  EXPECT_FALSE(run.place.resumed);
  EXPECT_EQ(sample.peak->bytes, Bytes(1000000000));
  EXPECT_EQ(sample.peak->rank, PeakRank::kLast);
  EXPECT_FALSE(sample.peak->first_step_only);
  EXPECT_EQ(sample.step_ms, 250);
  EXPECT_TRUE(sample.notes.empty());
}

TEST(CiRow, ReplicasAreBoundedByTheGlobalBatch) {
  EXPECT_EQ(run_of({{"global-batch-size", "32"}}).parallel.data, 8);
  EXPECT_EQ(run_of({{"global-batch-size", "31"}}).parallel.data, 7);
  EXPECT_EQ(run_of({{"global-batch-size", "4"}}).parallel.data, 1);
  EXPECT_EQ(mcore::num_micro_batches(run_of({{"global-batch-size", "64"}})), 2);
}

TEST(CiRow, WithoutAGlobalBatchTheScheduleTellsItOrEachReplicaTakesOne) {
  EXPECT_EQ(run_of({{"global-batch-size", ""}}).batch.global, 32);
  const Cells schedule = {{"global-batch-size", ""},
                          {"other_args", "step-batch-size-schedule=0:384 200B:768"}};
  EXPECT_EQ(run_of(schedule).batch.global, 384);
}

TEST(CiRow, GpusNobodyStatesAreOneNode) {
  const Sample hopper = read({{"num_gpus", ""}}).value.value();
  EXPECT_EQ(hopper.run.parallel.num_gpus, 8);
  ASSERT_EQ(hopper.notes.size(), 1u);
  EXPECT_NE(hopper.notes[0].find("num_gpus"), std::string::npos);
  EXPECT_EQ(run_of({{"num_gpus", ""}, {"platform", "dgx_gb200"}}).parallel.num_gpus, 4);
  EXPECT_EQ(run_of({{"num_gpus", ""},
                    {"tensor-model-parallel-size", "8"},
                    {"pipeline-model-parallel-size", "4"}})
                .parallel.num_gpus,
            32);
}

TEST(CiRow, AnOptimizerThatIsSpreadOverUnknownGpusIsRefused) {
  const Cells release = {
      {"num_gpus", ""}, {"train-iters", ""}, {"use-distributed-optimizer", "True"}};
  EXPECT_EQ(refusals(release), std::vector<std::string>{"accuracy.world-size"});
  for (const auto& [column, cell] :
       Cells{{"num_gpus", "8"}, {"train-iters", "50"}, {"use-distributed-optimizer", ""}}) {
    Cells told = release;
    told[column] = cell;
    EXPECT_TRUE(refusals(told).empty()) << column;
  }
}

TEST(CiRow, FewerGpusThanPartsOfTheModelAreRefused) {
  EXPECT_EQ(run_of({{"tensor-model-parallel-size", "8"}}).parallel.data, 1);
  EXPECT_EQ(refusals({{"tensor-model-parallel-size", "8"}, {"pipeline-model-parallel-size", "2"}}),
            kBadCell);
}

TEST(CiRow, SequenceParallelismNeedsTensorParallelism) {
  EXPECT_FALSE(run_of({{"sequence-parallel", "True"}}).parallel.sequence);
  EXPECT_TRUE(run_of({{"sequence-parallel", "True"}, {"tensor-model-parallel-size", "2"}})
                  .parallel.sequence);
}

TEST(CiRow, VirtualStagesComeFromTheirNumberOrTheirLayers) {
  const Cells pipeline = {{"pipeline-model-parallel-size", "2"}};
  EXPECT_EQ(run_of(pipeline).parallel.virtual_stages, 1);
  Cells by_layers = pipeline, by_number = pipeline;
  by_layers["num-layers-per-virtual-pipeline-stage"] = "2";
  by_number["num-virtual-stages-per-pipeline-rank"] = "3";
  EXPECT_EQ(run_of(by_layers).parallel.virtual_stages, 3);
  EXPECT_EQ(run_of(by_number).parallel.virtual_stages, 3);
  EXPECT_EQ(run_of({{"num-virtual-stages-per-pipeline-rank", "3"}}).parallel.virtual_stages, 1);
}

TEST(CiRow, LayersMustFillTheStages) {
  EXPECT_EQ(refusals({{"num-layers", "13"}, {"pipeline-model-parallel-size", "2"}}), kSizes);
  EXPECT_TRUE(refusals({{"num-layers", "14"}, {"pipeline-model-parallel-size", "2"}}).empty());
  EXPECT_EQ(refusals({{"num-layers", "11"},
                      {"pipeline-model-parallel-size", "4"},
                      {"account-for-loss-in-pipeline-split", "True"}}),
            std::vector<std::string>());
}

TEST(CiRow, TheEndsOfAPipelineMayDiffer) {
  const mcore::Run run = run_of({{"pipeline-model-parallel-size", "4"},
                                 {"decoder-first-pipeline-num-layers", "2"},
                                 {"decoder-last-pipeline-num-layers", "2"}});
  EXPECT_EQ(run.parallel.layout, (std::vector<std::vector<int64_t>>{{2, 4, 4, 2}}));
  EXPECT_EQ(
      refusals({{"pipeline-model-parallel-size", "4"}, {"decoder-first-pipeline-num-layers", "3"}}),
      std::vector<std::string>());
  EXPECT_EQ(
      refusals({{"pipeline-model-parallel-size", "4"}, {"decoder-first-pipeline-num-layers", "4"}})
          .at(0),
      "accuracy.bad-cell");
}

TEST(CiRow, ALayoutTextAndAHybridPatternPlaceLayers) {
  const mcore::Run run = run_of({{"num-layers", "4"},
                                 {"pipeline-model-parallel-size", "2"},
                                 {"pipeline-model-parallel-layout", "Et|tt||tL"}});
  EXPECT_EQ(run.parallel.layout, (std::vector<std::vector<int64_t>>{{1, 2}, {0, 1}}));
  EXPECT_EQ(refusals({{"num-layers", "5"},
                      {"pipeline-model-parallel-size", "2"},
                      {"pipeline-model-parallel-layout", "Et|tt||tL"}})
                .at(0),
            "accuracy.bad-cell");
  const mcore::Run hybrid = run_of({{"num-layers", ""},
                                    {"pipeline-model-parallel-size", "2"},
                                    {"hybrid-layer-pattern", "M-M|*-/*-"}});
  EXPECT_EQ(hybrid.parallel.layout, (std::vector<std::vector<int64_t>>{{3, 2}}));
  EXPECT_EQ(hybrid.model.mtp_layers, 1);
  EXPECT_EQ(hybrid.model.layers[1].mixer, mcore::Mixer::kNone);
}

TEST(CiRow, TheFamilyOfAModelDecidesItsVocabulary) {
  EXPECT_EQ(run_of({{"vocab-size", "8193"}}).model.vocab, 8193);
  EXPECT_EQ(run_of({{"tokenizer-type", "Llama2Tokenizer"}}).model.vocab, 32000);
  EXPECT_EQ(run_of({{"tokenizer-type", "GPTSentencePieceTokenizer"}}).model.vocab, 256000);
  EXPECT_EQ(refusals({{"tokenizer-type", "HuggingFaceTokenizer"}}), kBadCell);
  const mcore::Run bert = run_of({{"case", "bert/x"}});
  EXPECT_EQ(bert.model.family, mcore::Family::kBert);
  EXPECT_EQ(bert.model.vocab, 30522);
  EXPECT_EQ(run_of({{"case", "bert/x"}, {"train-iters", "50"}, {"num_points", "11"}}).model.vocab,
            28996);
}

TEST(CiRow, AnEncoderMakesAT5) {
  const mcore::Run t5 = run_of({{"case", "t5/x"},
                                {"num-layers", ""},
                                {"seq-length", ""},
                                {"other_args",
                                 "encoder-num-layers=10 decoder-num-layers=12 "
                                 "encoder-seq-length=512 decoder-seq-length=128"}});
  EXPECT_EQ(t5.model.family, mcore::Family::kT5);
  EXPECT_EQ(t5.model.layers.size(), 12u);
  EXPECT_EQ(t5.model.encoder_layers, 10);
  EXPECT_EQ(t5.batch.seq, 128);
  EXPECT_EQ(t5.batch.encoder_seq, 512);
  EXPECT_EQ(t5.model.vocab, 29098);
}

TEST(CiRow, GatedLayersAreNarrowerWhereNoWidthIsGiven) {
  EXPECT_EQ(run_of({{"swiglu", "True"}}).model.ffn, 1344);  // 8/3 * 512 down to a multiple of 64
  EXPECT_EQ(run_of({{"swiglu", "True"}, {"ffn-hidden-size", "2048"}}).model.ffn, 2048);
}

TEST(CiRow, ExpertsFollowTheirColumns) {
  const Cells experts = {{"num-experts", "8"},
                         {"moe-router-topk", "2"},
                         {"moe-ffn-hidden-size", "1024"},
                         {"moe-shared-expert-intermediate-size", "512"},
                         {"moe-grouped-gemm", "True"},
                         {"moe-router-dtype", "fp32"},
                         {"moe-token-dispatcher-type", "flex"},
                         {"moe-flex-dispatcher-backend", "hybridep"},
                         {"expert-model-parallel-size", "4"},
                         {"moe-layer-freq", "([0]*3+[1]*9)"}};
  const mcore::Run run = run_of(experts);
  EXPECT_EQ(run.model.experts.num_experts, 8);
  EXPECT_EQ(run.model.experts.topk, 2);
  EXPECT_EQ(run.model.experts.ffn, 1024);
  EXPECT_EQ(run.model.experts.shared_ffn, 512);
  EXPECT_TRUE(run.model.experts.grouped_gemm);
  EXPECT_TRUE(run.model.experts.router_fp32);
  EXPECT_EQ(run.model.experts.dispatcher, "hybridep");
  EXPECT_EQ(run.parallel.expert, 4);
  EXPECT_EQ(run.model.layers[2].feed_forward, mcore::FeedForward::kDense);
  EXPECT_EQ(run.model.layers[3].feed_forward, mcore::FeedForward::kExperts);
  const mcore::Run dense = run_of({});
  EXPECT_EQ(dense.model.experts.num_experts, 0);
  EXPECT_EQ(dense.model.layers[3].feed_forward, mcore::FeedForward::kDense);
  EXPECT_EQ(run_of({{"num-experts", "8"}}).model.experts.dispatcher, "allgather");
  Cells wrong = experts;
  wrong["moe-layer-freq"] = "([0]*3+[1]*8)";
  EXPECT_EQ(refusals(wrong), kBadCell);
}

TEST(CiRow, LatentAttentionHasItsOwnSizes) {
  const mcore::Run run = run_of({{"multi-latent-attention", "True"},
                                 {"q-lora-rank", "256"},
                                 {"kv-lora-rank", "128"},
                                 {"other_args", "qk-head-dim=96"}});
  EXPECT_EQ(run.model.layers[0].mixer, mcore::Mixer::kLatentAttention);
  EXPECT_EQ(run.model.attention.q_lora_rank, 256);
  EXPECT_EQ(run.model.attention.kv_lora_rank, 128);
  EXPECT_EQ(run.model.attention.qk_nope_dim, 96);
  EXPECT_EQ(run.model.attention.qk_rope_dim, 64);
  EXPECT_EQ(run.model.attention.v_dim, 128);
  EXPECT_EQ(run_of({}).model.attention.kv_lora_rank, 0);
}

TEST(CiRow, NumberFormatsDecideTheBytesOfGradients) {
  EXPECT_EQ(run_of({{"grad-reduce-in-bf16", "True"}}).numerics.gradient_bytes, 2);
  const mcore::Numerics half = run_of({{"bf16", ""}, {"fp16", "True"}}).numerics;
  EXPECT_EQ(half.params, mcore::Precision::kF16);
  EXPECT_EQ(half.gradient_bytes, 2);
  const mcore::Numerics full = run_of({{"bf16", ""}}).numerics;
  EXPECT_EQ(full.params, mcore::Precision::kF32);
  EXPECT_EQ(full.gradient_bytes, 4);
  const mcore::Numerics low =
      run_of({{"fp8-format", "e4m3"}, {"fp8-recipe", "mxfp8"}, {"fp8-param-gather", "True"}})
          .numerics;
  EXPECT_EQ(low.gemms, mcore::LowPrecision::kMxfp8);
  EXPECT_TRUE(low.low_precision_params);
  EXPECT_EQ(run_of({}).numerics.gemms, mcore::LowPrecision::kNone);
  EXPECT_EQ(refusals({{"fp8-format", "e4m3"}, {"fp8-recipe", "mx"}}), kBadCell);
}

TEST(CiRow, RecomputeFollowsItsColumns) {
  using Method = mcore::Recompute::Method;
  const mcore::Recompute full = run_of({{"recompute-granularity", "full"},
                                        {"recompute-method", "block"},
                                        {"recompute-num-layers", "3"}})
                                    .recompute;
  EXPECT_EQ(full.method, Method::kBlock);
  EXPECT_EQ(full.num_layers, 3);
  EXPECT_EQ(run_of({{"recompute-granularity", "full"}}).recompute.method, Method::kUniform);
  const mcore::Recompute labels =
      run_of({{"recompute-granularity", "selective"}, {"recompute-modules", "[mlp moe_act]"}})
          .recompute;
  EXPECT_EQ(labels.method, Method::kSelective);
  EXPECT_EQ(labels.labels, (std::set<std::string>{"mlp", "moe_act"}));
  EXPECT_EQ(run_of({{"recompute-activations", "True"}}).recompute.labels,
            std::set<std::string>{"core_attn"});
  EXPECT_EQ(refusals({{"recompute-granularity", "some"}}), kBadCell);
}

TEST(CiRow, TheKernelOfAttentionFollowsBackendDeviceAndDeterminism) {
  using Kernel = mcore::AttentionKernel;
  const auto kernel = [](Cells cells) { return run_of(cells).place.attention; };
  EXPECT_EQ(kernel({}), Kernel::kCudnn);
  EXPECT_EQ(kernel({{"platform", "dgx_a100"}}), Kernel::kFlash);
  EXPECT_EQ(kernel({{"platform", "dgx_gb200"}}), Kernel::kCudnn);
  EXPECT_EQ(kernel({{"platform", "dgx_gb200"}, {"deterministic-mode", "True"}}), Kernel::kFlash);
  EXPECT_EQ(kernel({{"deterministic-mode", "True"}}), Kernel::kCudnn);
  EXPECT_EQ(kernel({{"attention-backend", "flash"}}), Kernel::kFlash);
  EXPECT_EQ(kernel({{"attention-backend", "unfused"}}), Kernel::kUnfused);
  EXPECT_EQ(kernel({{"transformer-impl", "local"}}), Kernel::kUnfused);
  EXPECT_EQ(kernel({{"env_NVTE_FUSED_ATTN", "0"}}), Kernel::kFlash);
  EXPECT_EQ(kernel({{"env_NVTE_FUSED_ATTN", "1"}}), Kernel::kCudnn);
  const Cells old = {{"platform", "dgx_a100"},
                     {"environment", "lts"},
                     {"deterministic-mode", "True"},
                     {"train-iters", "100"},
                     {"num_points", "21"}};
  EXPECT_EQ(kernel(old), Kernel::kUnfused);
  EXPECT_EQ(refusals({{"attention-backend", "fancy"}}), kBadCell);
}

TEST(CiRow, TheWorkspaceOfMatrixProductsFollowsDeviceAndEnvironment) {
  const auto large = [](Cells cells) { return run_of(cells).place.cublas_32mib; };
  EXPECT_TRUE(large({}));
  EXPECT_FALSE(large({{"platform", "dgx_a100"}}));
  EXPECT_TRUE(large({{"platform", "dgx_a100"}, {"env_CUBLAS_WORKSPACE_CONFIG", ":4096:8"}}));
  EXPECT_TRUE(large({{"platform", "dgx_gb200"}}));
  EXPECT_FALSE(large({{"platform", "dgx_gb200"}, {"env_NVTE_ALLOW_NONDETERMINISTIC_ALGO", "1"}}));
  EXPECT_TRUE(large({{"platform", "dgx_a100"}, {"deterministic-mode", "True"}}));
  EXPECT_FALSE(large({{"platform", "dgx_a100"},
                      {"deterministic-mode", "True"},
                      {"env_NVTE_ALLOW_NONDETERMINISTIC_ALGO", "0"}}));
}

TEST(CiRow, SettingsOfTheAllocatorAreKeptAsTheyAre) {
  EXPECT_EQ(run_of({}).place.allocator_conf, "");
  EXPECT_EQ(
      run_of({{"env_PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}}).place.allocator_conf,
      "expandable_segments:True");
}

TEST(CiRow, TheLossHeadFollowsItsColumns) {
  using mcore::HeadLoss;
  EXPECT_EQ(run_of({}).place.head_loss, HeadLoss::kUnfused);
  EXPECT_EQ(run_of({{"cross-entropy-loss-fusion", "True"}}).place.head_loss, HeadLoss::kNative);
  EXPECT_EQ(run_of({{"cross-entropy-loss-fusion", "True"}, {"cross-entropy-fusion-impl", "te"}})
                .place.head_loss,
            HeadLoss::kTransformerEngine);
  EXPECT_EQ(run_of({{"cross-entropy-fusion-impl", "te"}}).place.head_loss, HeadLoss::kUnfused);
  const Cells deferred = {{"global-batch-size", "160"}, {"defer-embedding-wgrad-compute", "True"}};
  EXPECT_EQ(run_of(deferred).place.deferred_head_gradients, 5);  // all micro-batches
  Cells limited = deferred;
  limited["wgrad-deferral-limit"] = "2";
  EXPECT_EQ(run_of(limited).place.deferred_head_gradients, 2);
}

TEST(CiRow, GraphsAndOffloadFollowTheirColumns) {
  EXPECT_EQ(run_of({{"cuda-graph-impl", "transformer_engine"},
                    {"cuda-graph-modules", "[attn moe_router]"}})
                .place.graphs,
            (std::set<std::string>{"attn", "moe_router"}));
  EXPECT_EQ(
      run_of({{"cuda-graph-impl", "local"}, {"cuda-graph-scope", "full_iteration"}}).place.graphs,
      std::set<std::string>{"full_iteration"});
  EXPECT_TRUE(
      run_of({{"cuda-graph-impl", "none"}, {"cuda-graph-modules", "attn"}}).place.graphs.empty());
  EXPECT_FALSE(run_of({{"cuda-graph-impl", "local"}}).place.graphs.empty());
  EXPECT_FALSE(run_of({}).place.offloads_activations);
  EXPECT_TRUE(run_of({{"fine-grained-activation-offloading", "True"}}).place.offloads_activations);
  EXPECT_TRUE(run_of({{"cpu-offloading-num-layers", "2"}}).place.offloads_activations);
  EXPECT_EQ(run_of({{"cpu-offloading-num-layers", "2"}}).offload.num_layers, 2);
  const Cells modules = {{"offload-modules", "[moe_act expert_fc1]"}};
  EXPECT_TRUE(run_of(modules).offload.modules.empty());  // it is not switched on
  Cells fine_grained = modules;
  fine_grained["fine-grained-activation-offloading"] = "True";
  EXPECT_EQ(run_of(fine_grained).offload.modules, (std::set<std::string>{"expert_fc1", "moe_act"}));
}

TEST(CiRow, OptimizerColumnsAreRead) {
  const mcore::Optimizer optimizer = run_of({{"use-distributed-optimizer", "True"},
                                             {"num-distributed-optimizer-instances", "2"},
                                             {"overlap-grad-reduce", "True"},
                                             {"overlap-param-gather", "True"},
                                             {"use-megatron-fsdp", "True"},
                                             {"optimizer", "muon"},
                                             {"optimizer-cpu-offload", "True"}})
                                         .optimizer;
  EXPECT_TRUE(optimizer.distributed);
  EXPECT_EQ(optimizer.instances, 2);
  EXPECT_TRUE(optimizer.overlap_grad_reduce);
  EXPECT_TRUE(optimizer.overlap_param_gather);
  EXPECT_TRUE(optimizer.fsdp);
  EXPECT_EQ(optimizer.name, "muon");
  EXPECT_EQ(optimizer.offload_fraction, 1);
  EXPECT_EQ(run_of({}).optimizer.offload_fraction, 0);
}

TEST(CiRow, PlatformAndStepsSayWhatTheFigureIsOf) {
  EXPECT_TRUE(run_of({{"platform", "dgx_a100_2nd"}}).place.resumed);
  EXPECT_TRUE(run_of({{"platform", "dgxa100_dracooci"}}).place.old_recording);
  EXPECT_FALSE(run_of({{"num_points", "100"}, {"train-iters", "100"}}).place.old_recording);
  EXPECT_TRUE(run_of({{"num_points", "21"}, {"train-iters", "100"}}).place.old_recording);
  EXPECT_TRUE(read({{"train-iters", "1"}}).value->peak->first_step_only);
  EXPECT_FALSE(read({{"train-iters", "2"}}).value->peak->first_step_only);
  EXPECT_FALSE(read({{"peak_allocated_bytes_max", ""}}).value->peak);
  EXPECT_FALSE(read({{"iteration_time_s_median", ""}}).value->step_ms);
}

TEST(CiRow, WhatIsNotPlainTrainingIsRefused) {
  const std::vector<std::string> workload = {"accuracy.workload"};
  EXPECT_EQ(refusals({{"other_args", "img-h=336"}}), workload);
  EXPECT_EQ(refusals({{"other_args", "export-kd-cfg=x.yaml"}}), workload);
  EXPECT_EQ(refusals({{"case", "gpt/gpt_grpo_x"}}), workload);
}

TEST(CiRow, CellsThatAreNoSizesAreRefused) {
  EXPECT_EQ(refusals({{"hidden-size", ""}}), std::vector<std::string>{"accuracy.missing-cell"});
  EXPECT_EQ(refusals({{"micro-batch-size", "four"}}), kBadCell);
  EXPECT_EQ(refusals({{"micro-batch-size", "-4"}}), kBadCell);
  EXPECT_EQ(refusals({{"num-experts", "-1"}}), kBadCell);
  EXPECT_EQ(refusals({{"bf16", "perhaps"}}), kBadCell);
  EXPECT_EQ(refusals({{"hidden-dropout", "x"}}), kBadCell);
  EXPECT_EQ(refusals({{"seq-length", "99999999999999999999"}}), kBadCell);
  EXPECT_EQ(refusals({{"hybrid-layer-pattern", "MxM"}}).at(0), "accuracy.bad-cell");
}

TEST(CiRow, SizesThatDoNotDivideOrWouldOverflowAreRefused) {
  EXPECT_EQ(refusals({{"num-attention-heads", "6"}, {"tensor-model-parallel-size", "4"}}), kSizes);
  EXPECT_EQ(refusals({{"num-experts", "6"}, {"expert-model-parallel-size", "4"}}), kSizes);
  EXPECT_EQ(refusals({{"num-experts", "1000000"}}), kSizes);
  EXPECT_TRUE(refusals({{"num-experts", "4096"}}).empty());
  EXPECT_EQ(refusals({{"seq-length", "4000000000"}, {"micro-batch-size", "1000000"}}), kSizes);
  EXPECT_EQ(refusals({{"pipeline-model-parallel-size", "1000000"}, {"num_gpus", "1000000"}}),
            kSizes);
}

}  // namespace
}  // namespace refrain::accuracy
