#include "accuracy/measured/measured_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace refrain::accuracy {
namespace {

using Cells = std::map<std::string, std::string>;

/// A Llama 3 70B on 64 H100, with these cells instead of its own.
Checked<Sample> read(const Cells& changes) {
  Cells cells = {{"model", "LLAMA3_70B"},
                 {"task", "pretrain"},
                 {"hardware", "H100"},
                 {"num_gpus", "64"},
                 {"parallelism", "TP4_PP8_CP1_VP5_EPn/a"},
                 {"precision", "FP8"},
                 {"seq_len", "8192"},
                 {"mbs", "1"},
                 {"gbs", "128"},
                 {"step_time_ms", "10119.8"},
                 {"step_time_kind", "derived"}};
  for (const auto& [column, cell] : changes) cells[column] = cell;
  Table table{.rows = {{}}};
  for (const auto& [column, cell] : cells) {
    table.columns.push_back(column);
    table.rows[0].push_back(cell);
  }
  return read_measured_row(table, 0);
}

Sample sample_of(const Cells& changes) {
  const Checked<Sample> sample = read(changes);
  EXPECT_TRUE(sample.value) << to_text(sample.findings);
  return sample.value.value_or(Sample());
}

mcore::Run run_of(const Cells& changes) { return sample_of(changes).run; }

std::string refusal(const Cells& changes) {
  const Checked<Sample> sample = read(changes);
  return sample.value || sample.findings.empty() ? "" : sample.findings[0].rule;
}

/// The same row with a model that has experts.
Cells with_experts(Cells changes) {
  changes.insert(
      {{"model", "Qwen3_30B_a3B"}, {"parallelism", "TP1_PP1_CP1_VPn/a_EP8"}, {"num_gpus", "16"}});
  return changes;
}

TEST(MeasuredRow, ARowReadsFieldByField) {
  const Sample sample = sample_of({});
  const mcore::Run& run = sample.run;
  EXPECT_EQ(run.model.layers.size(), 80u);
  EXPECT_EQ(run.parallel.num_gpus, 64);
  EXPECT_EQ(run.parallel.tensor, 4);
  EXPECT_EQ(run.parallel.pipeline, 8);
  EXPECT_EQ(run.parallel.virtual_stages, 5);
  EXPECT_EQ(run.parallel.data, 2);
  EXPECT_TRUE(run.parallel.sequence);
  EXPECT_EQ(run.batch.seq, 8192);
  EXPECT_EQ(mcore::num_micro_batches(run), 64);
  EXPECT_EQ(run.numerics.gemms, mcore::LowPrecision::kFp8Current);
  EXPECT_TRUE(run.numerics.low_precision_params);
  EXPECT_TRUE(run.optimizer.distributed);
  EXPECT_EQ(run.recompute.method, mcore::Recompute::Method::kNone);
  EXPECT_EQ(run.place.device, "h100-80gb");
  EXPECT_TRUE(run.place.tp_overlap);
  EXPECT_EQ(sample.family, "h100-80gb, dense");
  EXPECT_EQ(sample.step_ms, 10119.8);
  EXPECT_FALSE(sample.peak);
}

TEST(MeasuredRow, AModelNobodyKnowsGetsTheNearest) {
  const Checked<Sample> sample = read({{"model", "LAMA3_70B"}});
  ASSERT_FALSE(sample.value);
  EXPECT_EQ(sample.findings[0].rule, "architecture.unknown");
  EXPECT_NE(sample.findings[0].remedy.find("llama3_70b"), std::string::npos);
}

TEST(MeasuredRow, BracketsBehindAModelSayWhatIsDifferent) {
  const Cells deepseek = {{"model", "DeepSeekV3 (w/o MTP)"},
                          {"parallelism", "TP1_PP4_CP1_VP4_EP64"},
                          {"num_gpus", "256"}};
  EXPECT_EQ(run_of(deepseek).model.mtp_layers, 0);
  Cells with_mtp = deepseek;
  with_mtp["model"] = "DeepSeekV3 (w/ MTP)";
  EXPECT_EQ(run_of(with_mtp).model.mtp_layers, 1);
}

TEST(MeasuredRow, PrecisionIsReadInEverySpelling) {
  using mcore::LowPrecision;
  const auto gemms = [](const char* cell) { return run_of({{"precision", cell}}).numerics.gemms; };
  for (const char* cell : {"", "BF16", "bf16"}) EXPECT_EQ(gemms(cell), LowPrecision::kNone);
  for (const char* cell : {"FP8-MX", "MXFP8", "fp8_mx"})
    EXPECT_EQ(gemms(cell), LowPrecision::kMxfp8);
  for (const char* cell : {"FP8", "FP8-CS", "FP8 (unstated)"}) {
    EXPECT_EQ(gemms(cell), LowPrecision::kFp8Current);
  }
  EXPECT_EQ(gemms("NVFP4"), LowPrecision::kNvfp4);
  EXPECT_FALSE(run_of({{"precision", "NVFP4"}}).numerics.low_precision_params);
  EXPECT_EQ(refusal({{"precision", "FP7"}}), "accuracy.bad-cell");
}

TEST(MeasuredRow, OfARowWithoutParallelSizesAllElseIsTheRecipesToo) {
  Cells cells = {{"model", "DeepSeek V3"}, {"hardware", "GB300"}, {"num_gpus", "256"},
                 {"precision", "NVFP4"},   {"parallelism", ""},   {"mbs", ""},
                 {"task", "pretrain"},     {"seq_len", ""},       {"gbs", ""}};
  const mcore::Run run = run_of(cells);  // deepseek_v3_pretrain_256gpu_gb300_nvfp4_config
  EXPECT_EQ(run.parallel.pipeline, 2);
  EXPECT_EQ(run.recompute.labels, std::set<std::string>{"mla_up_proj"});
  EXPECT_EQ(run.numerics.gradient_bytes, 2);
  EXPECT_FALSE(run.numerics.low_precision_params);
  cells["recompute_granularity"] = "full";
  EXPECT_EQ(run_of(cells).recompute.method, mcore::Recompute::Method::kUniform);
  cells["notes"] = "with FP4 parameter gather";
  EXPECT_TRUE(run_of(cells).numerics.low_precision_params);
  cells["notes"] = "without FP4 parameter gather";
  EXPECT_FALSE(run_of(cells).numerics.low_precision_params);
}

TEST(MeasuredRow, PerformanceAndNemotronRecipesReduceGradientsInHalfPrecision) {
  EXPECT_EQ(run_of({{"task", "pretrain_performance"}}).numerics.gradient_bytes, 2);
  EXPECT_EQ(run_of({{"task", "pretrain"}}).numerics.gradient_bytes, 4);
  EXPECT_EQ(run_of({{"source", "docs/performance-summary.md"}}).numerics.gradient_bytes, 2);
  EXPECT_EQ(run_of({{"model", "nemotron-3.5-lightning"}, {"parallelism", "TP1_EP8"}})
                .numerics.gradient_bytes,
            2);
}

TEST(MeasuredRow, TheLossIsTransformerEnginesButInNemotronRecipesThatAreNotTuned) {
  using mcore::HeadLoss;
  const Cells nemotron = {{"model", "nemotron-3.5-lightning"}, {"parallelism", "TP1_EP8"}};
  EXPECT_EQ(run_of({}).place.head_loss, HeadLoss::kTransformerEngine);
  EXPECT_EQ(run_of(nemotron).place.head_loss, HeadLoss::kNative);
  Cells tuned = nemotron;
  tuned["task"] = "pretrain_performance";
  EXPECT_EQ(run_of(tuned).place.head_loss, HeadLoss::kTransformerEngine);
}

TEST(MeasuredRow, ShardedWeightsOfNemotronKeepFloat32Gradients) {
  EXPECT_EQ(run_of({{"model", "nemotron-3.5-lightning"}, {"parallelism", "TP1_EP8_FSDP"}})
                .numerics.gradient_bytes,
            4);
}

TEST(MeasuredRow, RecomputeTellsAnEmptyListFromNone) {
  using Method = mcore::Recompute::Method;
  const auto recompute = [](const char* modules) {
    return run_of({{"recompute_granularity", "selective"}, {"recompute_modules", modules}})
        .recompute;
  };
  EXPECT_EQ(recompute("mlp moe_act").labels, (std::set<std::string>{"mlp", "moe_act"}));
  EXPECT_EQ(recompute("[]").method, Method::kSelective);
  EXPECT_TRUE(recompute("[]").labels.empty());
  EXPECT_EQ(recompute("").labels, std::set<std::string>{"core_attn"});
  const mcore::Recompute full = run_of({{"recompute_granularity", "full"},
                                        {"recompute_method", "block"},
                                        {"recompute_num_layers", "2"}})
                                    .recompute;
  EXPECT_EQ(full.method, Method::kBlock);
  EXPECT_EQ(full.num_layers, 2);
  EXPECT_EQ(run_of({{"recompute_granularity", "full"}}).recompute.method, Method::kUniform);
  EXPECT_EQ(refusal({{"recompute_granularity", "half"}}), "accuracy.bad-cell");
}

TEST(MeasuredRow, GraphsAreReadInEverySpelling) {
  using Scopes = std::set<std::string>;
  const auto graphs = [](const char* cell) { return run_of({{"cuda_graph", cell}}).place.graphs; };
  EXPECT_EQ(graphs(""), Scopes());
  EXPECT_EQ(graphs("none"), Scopes());
  EXPECT_EQ(graphs(":[]"), Scopes());
  EXPECT_EQ(graphs("full_iteration:[]"), Scopes{"full_iteration"});
  EXPECT_EQ(graphs("none:full_iteration"), Scopes{"full_iteration"});
  EXPECT_EQ(graphs("transformer_engine: attn moe_router"), (Scopes{"attn", "moe_router"}));
  EXPECT_EQ(graphs("transformer_engine partial"), (Scopes{"attn", "moe_router", "moe_preprocess"}));
  EXPECT_EQ(graphs("{implementation: transformer_engine, scopes: [mamba]}"), Scopes{"mamba"});
}

TEST(MeasuredRow, OffloadIsOfActivationsOrOfTheOptimizer) {
  const auto fraction = [](const char* cell) {
    return run_of({{"offload", cell}}).optimizer.offload_fraction;
  };
  EXPECT_EQ(fraction("none"), 0);
  EXPECT_EQ(fraction("optimizer states 25% to CPU"), 0.25);
  EXPECT_EQ(fraction("offload_optimizer_states"), 1);
  EXPECT_FALSE(run_of({{"offload", "optimizer states 25% to CPU"}}).place.offloads_activations);
  EXPECT_TRUE(run_of({{"offload", "layers=20"}}).place.offloads_activations);
  EXPECT_EQ(run_of({{"offload", "layers=20"}}).offload.num_layers, 20);
  const mcore::Run fine_grained = run_of({{"offload", "fine-grained: expert_fc1 moe_act"}});
  EXPECT_TRUE(fine_grained.place.offloads_activations);
  EXPECT_EQ(fine_grained.offload.modules, (std::set<std::string>{"expert_fc1", "moe_act"}));
}

TEST(MeasuredRow, TheDispatcherIsTheRowsElseThatOfItsRelease) {
  const auto dispatcher = [](Cells cells) {
    return run_of(with_experts(std::move(cells))).model.experts.dispatcher;
  };
  EXPECT_EQ(dispatcher({{"notes", "HybridEP, EP overlap off"}}), "hybridep");
  EXPECT_EQ(dispatcher({{"notes", "AlltoAll"}}), "alltoall");
  EXPECT_EQ(dispatcher({{"container_or_rev", "nemo 25.11"}}), "deepep");
  EXPECT_EQ(dispatcher({{"container_or_rev", "nemo 26.02"}}), "hybridep");
  EXPECT_EQ(dispatcher({}), "alltoall");
  EXPECT_EQ(dispatcher({{"hardware", "GB200"}}), "hybridep");
}

TEST(MeasuredRow, ExpertOverlapIsTheRowsElseItsGraphs) {
  const auto overlaps = [](Cells cells) {
    return run_of(with_experts(std::move(cells))).place.ep_overlap;
  };
  EXPECT_TRUE(overlaps({{"notes", "HybridEP, EP overlap on"}}));
  EXPECT_FALSE(overlaps({{"notes", "HybridEP, EP overlap off"}}));
  EXPECT_TRUE(overlaps({{"cuda_graph", "full_iteration:[]"}}));
  EXPECT_FALSE(overlaps({}));
}

TEST(MeasuredRow, LayersThatDoNotDivideAreSpread) {
  // 126 and the embedding and the loss are 32 stages of 4.
  const mcore::Run llama =
      run_of({{"model", "LLAMA3.1_405B"}, {"num_gpus", "128"}, {"parallelism", "TP4_PP8_VP4"}});
  EXPECT_TRUE(llama.parallel.embedding_counts);
  EXPECT_TRUE(llama.parallel.loss_counts);
  const Sample deepseek = sample_of({{"model", "DeepSeekV3"},
                                     {"num_gpus", "256"},
                                     {"parallelism", "TP1_PP16_EP8"},
                                     {"hardware", "GB200"}});
  const auto& layout = deepseek.run.parallel.layout;
  ASSERT_EQ(layout.size(), 1u);
  EXPECT_EQ(layout[0].front(), 4);
  EXPECT_EQ(layout[0].back(), 1);  // 61 are 15 times 4 and 1
  const mcore::Run even = run_of({{"parallelism", "TP4_PP2_VP4"}});
  EXPECT_FALSE(even.parallel.embedding_counts);
  EXPECT_TRUE(even.parallel.layout.empty());
}

TEST(MeasuredRow, ARowMaySayTheLayersOfEachStage) {
  const Cells row = {{"model", "DeepSeek V3 (14 layers)"},
                     {"parallelism", "TP1_PP4_VPP2_EP16"},
                     {"pipeline_model_parallel_layout", "Ett|(tt|)*6mL"}};
  const mcore::Run run = run_of(row);
  EXPECT_EQ(run.model.layers.size(), 14u);
  EXPECT_EQ(run.model.layers.back().feed_forward, mcore::FeedForward::kExperts);
  EXPECT_EQ(run.model.mtp_layers, 1);
  EXPECT_EQ(run.parallel.layout, (std::vector<std::vector<int64_t>>{{2, 2, 2, 2}, {2, 2, 2, 0}}));
  Cells short_of_layers = row;
  short_of_layers["pipeline_model_parallel_layout"] = "Ett|(tt|)*5mL";
  EXPECT_EQ(refusal(short_of_layers), "accuracy.bad-cell");
}

TEST(MeasuredRow, AModelIsCutToLayersThatItHas) {
  EXPECT_EQ(run_of({{"model", "LLAMA3_70B (40 layers)"}}).model.layers.size(), 40u);
  for (const char* name : {"LLAMA3_70B (0 layers)", "LLAMA3_70B (81 layers)",
                           "LLAMA3_70B (all layers)", "LLAMA3_70B layers)"}) {
    EXPECT_NE(refusal({{"model", name}}), "") << name;
  }
}

TEST(MeasuredRow, AGlobalBatchMayBeMissingWhereNoTimeIsCompared) {
  const Cells row = {{"gbs", ""}, {"parallelism", "TP4_PP2_VP4"}, {"step_time_ms", ""}};
  const Sample sample = sample_of(row);
  EXPECT_EQ(sample.run.batch.global, 8);  // 64 GPUs are 8 replicas of 8
  ASSERT_FALSE(sample.notes.empty());
  for (const char* figure : {"step_time_ms", "tokens_per_s_per_gpu", "tflops_per_gpu"}) {
    Cells timed = row;
    timed[figure] = "500";
    EXPECT_EQ(refusal(timed), "accuracy.missing-cell") << figure;
  }
}

TEST(MeasuredRow, OnlyMegatronsRunsAreModelled) {
  EXPECT_EQ(refusal({{"framework", "Megatron-Core"}}), "");
  EXPECT_EQ(refusal({{"framework", "torchtitan"}}), "accuracy.bad-cell");
}

TEST(MeasuredRow, ARowWithoutFiguresRepeatsItsStatus) {
  const Cells row = {{"step_time_ms", ""}, {"status", "out of memory"}};
  EXPECT_EQ(sample_of(row).notes.back(), "the source says: out of memory");
}

TEST(MeasuredRow, ARecipeNamedInTheNotesFillsGaps) {
  const Sample sample =
      sample_of({{"model", "moonlight-16b-a3b"},
                 {"num_gpus", "16"},
                 {"parallelism", "TP1_PP1_CP1_VPn/a_EP8"},
                 {"precision", "bf16"},
                 {"gbs", ""},
                 {"notes", "recipe moonlight_16b_pretrain_16gpu_h100_bf16_config"}});
  EXPECT_EQ(sample.run.batch.global, 1024);
  EXPECT_TRUE(sample.run.optimizer.precision_aware);
  EXPECT_EQ(sample.run.optimizer.moment_bytes, 2);
  EXPECT_EQ(sample.run.place.allocator_conf, "expandable_segments:True");
  EXPECT_EQ(refusal({{"gbs", ""}, {"parallelism", "TP4_PP2_VP4"}}), "accuracy.missing-cell");
}

TEST(MeasuredRow, ParallelSizesMayBeThoseOfTheOnlyRecipe) {
  const Cells row = {{"model", "DeepSeek V3"}, {"hardware", "GB300"},  {"num_gpus", "256"},
                     {"parallelism", ""},      {"precision", "MXFP8"}, {"gbs", "4096"},
                     {"seq_len", "4096"}};
  const Sample sample = sample_of(row);
  EXPECT_EQ(sample.run.parallel.pipeline, 2);
  EXPECT_EQ(sample.run.parallel.expert, 32);
  EXPECT_FALSE(sample.notes.empty());
  Cells unknown = row;
  unknown["num_gpus"] = "257";
  EXPECT_EQ(refusal(unknown), "accuracy.bad-cell");
}

TEST(MeasuredRow, OnlyWeightsOfAdaptersAreTrainedWhereTheTaskSaysSo) {
  EXPECT_TRUE(run_of({{"task", "peft"}}).optimizer.trains_adapters_only);
  EXPECT_FALSE(run_of({{"task", "sft"}}).optimizer.trains_adapters_only);
}

TEST(MeasuredRow, TimesThatAreNoStepAreNotCompared) {
  EXPECT_FALSE(sample_of({{"step_time_kind", "delta vs no recompute"}}).step_ms);
  EXPECT_FALSE(sample_of({{"step_time_ms", "467-520"}}).step_ms);
  const Sample from_flops = sample_of({{"step_time_ms", ""}, {"tflops_per_gpu", "~704"}});
  EXPECT_FALSE(from_flops.step_ms);
  EXPECT_EQ(from_flops.tflops_per_gpu, 704);
  EXPECT_FALSE(sample_of({{"tflops_per_gpu", "704"}}).tflops_per_gpu);
  // 128 sequences of 8192 tokens on 64 GPUs at 1000 tokens a second.
  EXPECT_EQ(sample_of({{"step_time_ms", ""}, {"tokens_per_s_per_gpu", "1000"}}).step_ms, 16384);
}

TEST(MeasuredRow, RowsThatDoNotFitTogetherAreRefused) {
  EXPECT_EQ(refusal({{"hardware", "TPU"}}), "accuracy.bad-cell");
  EXPECT_EQ(refusal({{"num_gpus", "16"}}), "accuracy.bad-cell");
  EXPECT_EQ(refusal({{"num_gpus", ""}}), "accuracy.missing-cell");
  EXPECT_EQ(refusal({{"parallelism", "TP1 (2)_PP1 (4)"}}), "accuracy.bad-cell");
  EXPECT_EQ(refusal({{"parallelism", "TP5_PP1"}}), "accuracy.sizes");
  EXPECT_EQ(refusal({{"seq_len", "x"}}), "accuracy.bad-cell");
  EXPECT_EQ(refusal({{"model", "glm5-2"}}), "architecture.incomplete");
}

}  // namespace
}  // namespace refrain::accuracy
