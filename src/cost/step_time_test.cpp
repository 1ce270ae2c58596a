#include "cost/step_time.h"

#include <gtest/gtest.h>

#include "cost/published_runs.h"
#include "cost/shape/model_size.h"

namespace refrain::cost {
namespace {

double seconds(const mcore::Run& run, const char* on = "h100") {
  return step_time(run, device(on)).step_s;
}

bool has_note(const StepTime& time, std::string_view rule) {
  for (const Finding& note : time.notes) {
    EXPECT_EQ(note.severity, Severity::kNote);
    if (note.rule == rule) return true;
  }
  return false;
}

TEST(StepTime, PartsAddUpToTheStep) {
  for (const mcore::Run& run :
       {llama3_70b(), moonlight(), deepseek_v3(), gpt_oss_20b(), qwen3_next()}) {
    const StepTime time = step_time(run, device("gb300"));
    EXPECT_DOUBLE_EQ(time.parts.sum(), time.step_s);
    EXPECT_DOUBLE_EQ(time.parts.micro_batches_s,
                     static_cast<double>(time.num_micro_batches) * time.micro_batch.seconds());
    EXPECT_NEAR(
        time.tflops_per_gpu * 1e12 * time.step_s * static_cast<double>(run.parallel.num_gpus),
        time.flops.count(), 1e-6 * time.flops.count());
  }
}

TEST(StepTime, APassIsTheLongerOfTheTwoAndALittleMoreWhereTheyMeet) {
  EXPECT_EQ((PassTime{0, 0}.wall_s()), 0);
  EXPECT_DOUBLE_EQ((PassTime{2, 0}.wall_s()), 2);
  EXPECT_DOUBLE_EQ((PassTime{0, 3}.wall_s()), 3);
  EXPECT_NEAR((PassTime{1, 1}.wall_s()), 1.122462, 1e-6);  // 2^(1/6)
  EXPECT_NEAR((PassTime{1, 0.5}.wall_s()), 1.0026, 1e-4);
}

TEST(StepTime, EveryRecomputedLabelStretchesTheBubbleToo) {
  const mcore::Run none = llama3_70b();
  const StepTime before = step_time(none, device("h100"));
  const StepTime after = step_time(with_labels(none, {"mlp"}), device("h100"));
  EXPECT_NEAR(after.parts.bubble_s / before.parts.bubble_s,
              after.micro_batch.seconds() / before.micro_batch.seconds(), 1e-12);
  EXPECT_DOUBLE_EQ(after.micro_batch.forward.gpu_s, before.micro_batch.forward.gpu_s);
}

TEST(StepTime, FasterDevicesTakeLess) {
  const mcore::Run run = llama3_70b();
  EXPECT_LT(seconds(run, "h100"), seconds(run, "a100"));
  EXPECT_LT(seconds(run, "h200"), seconds(run, "h100"));
  EXPECT_LT(seconds(run, "b200"), seconds(run, "h200"));
  EXPECT_LT(seconds(run, "b300"), seconds(run, "b200"));
  EXPECT_LT(seconds(run, "gb300"), seconds(run, "gb200"));
}

TEST(StepTime, AFasterLinkNeverTakesMore) {
  DeviceProfile quick = device("h100");
  const double before = step_time(deepseek_v3(), quick).step_s;
  quick.peaks.nic_bytes_per_s *= 2;
  const double with_nic = step_time(deepseek_v3(), quick).step_s;
  EXPECT_LT(with_nic, before);
  quick.peaks.nvlink_bytes_per_s *= 2;
  EXPECT_LE(step_time(deepseek_v3(), quick).step_s, with_nic);
}

TEST(StepTime, GraphsTakeHostWorkAway) {
  const mcore::Run none = moonlight();
  mcore::Run some = none, all = none;
  some.place.graphs = {"attn"};
  all.place.graphs = {"full_iteration"};
  EXPECT_LT(seconds(some), seconds(none));
  EXPECT_LT(seconds(all), seconds(some));
  EXPECT_TRUE(step_time(none, device("h100")).micro_batch.host_bound());
  EXPECT_FALSE(step_time(all, device("h100")).micro_batch.host_bound());
}

TEST(StepTime, TwiceTheMicroBatchesTakeTwiceTheirTime) {
  mcore::Run run = llama3_70b();
  const StepTime once = step_time(run, device("h100"));
  run.batch.global *= 2;
  const StepTime twice = step_time(run, device("h100"));
  EXPECT_EQ(twice.num_micro_batches, 2 * once.num_micro_batches);
  EXPECT_DOUBLE_EQ(twice.parts.micro_batches_s, 2 * once.parts.micro_batches_s);
  EXPECT_DOUBLE_EQ(twice.parts.bubble_s, once.parts.bubble_s);
}

TEST(StepTime, MoreReplicasOfOneBatchTakeLess) {
  mcore::Run run = llama3_70b();
  double before = seconds(run);
  for (const int64_t replicas : {4, 8, 16}) {
    run.parallel.data = replicas;
    run.parallel.num_gpus = 16 * replicas;
    EXPECT_LT(seconds(run), before);
    before = seconds(run);
  }
}

TEST(StepTime, PredictionDepthsAreMoreLayersAndMoreHeads) {
  for (const mcore::Run& with : {deepseek_v3(), nemotron()}) {
    mcore::Run without = with;
    without.model.mtp_layers = 0;
    EXPECT_GT(seconds(with, "gb300"), seconds(without, "gb300"));
    const double heads = 1 + static_cast<double>(with.model.mtp_layers);
    EXPECT_NEAR(step_time(with, device("gb300")).head.forward_s,
                heads * step_time(without, device("gb300")).head.forward_s, 1e-9);
  }
}

TEST(StepTime, AHybridModelsLayoutCountsItsDepthsOnTheLastRank) {
  mcore::Run run = nemotron();
  run.parallel.layout = {{17, 17, 18}};
  run.parallel.pipeline = 3;
  run.parallel.num_gpus = 24;
  const double heavy_last = seconds(run);
  run.parallel.layout = {{19, 19, 14}};
  EXPECT_LT(seconds(run), heavy_last);
}

TEST(StepTime, WithoutOverlapDataParallelismIsFeltInFull) {
  mcore::Run run = llama3_70b();
  const double hidden = step_time(run, device("h100")).parts.data_parallel_s;
  run.optimizer.overlap_grad_reduce = false;
  const double gradients = step_time(run, device("h100")).parts.data_parallel_s;
  run.optimizer.overlap_param_gather = false;
  const double all = step_time(run, device("h100")).parts.data_parallel_s;
  EXPECT_NEAR(all / hidden, 1 / 0.02, 1e-6);  // 0.98 is hidden behind 16 micro-batches
  EXPECT_NEAR((gradients - hidden) / (all - hidden), 4.0 / 6, 1e-6);
}

TEST(StepTime, OneReplicaExchangesNothing) {
  mcore::Run run = llama3_70b();
  run.parallel.num_gpus = 16;
  run.parallel.data = 1;
  EXPECT_EQ(step_time(run, device("h100")).parts.data_parallel_s, 0);
}

TEST(StepTime, WithoutTheDistributedOptimizerEveryRankUpdatesEverything) {
  mcore::Run run = llama3_70b();
  const double split = step_time(run, device("h100")).parts.optimizer_s;
  run.optimizer.distributed = false;
  EXPECT_NEAR(step_time(run, device("h100")).parts.optimizer_s / split, 2, 1e-9);
}

TEST(StepTime, AdaptersAloneHaveNoWeightGradients) {
  mcore::Run run = llama3_70b();
  const StepTime all = step_time(run, device("h100"));
  run.optimizer.trains_adapters_only = true;
  const StepTime adapters = step_time(run, device("h100"));
  EXPECT_LT(adapters.kinds[0].layer.backward_s, 0.7 * all.kinds[0].layer.backward_s);
  EXPECT_EQ(adapters.parts.optimizer_s + adapters.parts.data_parallel_s, 0);
  EXPECT_NEAR(adapters.flops.count() / all.flops.count(), 0.67, 0.01);
}

TEST(StepTime, AnEvenLayoutIsTheSameAsNone) {
  mcore::Run run = llama3_70b();
  const StepTime even = step_time(run, device("h100"));
  run.parallel.layout.assign(5, std::vector<int64_t>(4, 4));
  EXPECT_NEAR(step_time(run, device("h100")).step_s, even.step_s, 1e-9);
}

TEST(StepTime, ALayoutIsPricedByItsHeaviestRank) {
  mcore::Run run = llama3_70b();
  run.parallel.layout.assign(5, std::vector<int64_t>(4, 4));
  const double even = seconds(run);
  run.parallel.layout.back() = {4, 4, 5, 3};  // one layer away from the rank with the head
  const double relieved = seconds(run);
  run.parallel.layout.back() = {4, 4, 3, 5};
  EXPECT_LT(relieved, even);
  EXPECT_GT(seconds(run), even);
}

TEST(StepTime, ABlockRecomputesItsFirstLayersOfEveryChunk) {
  mcore::Run run = llama3_70b();
  const double none = seconds(run);
  run.recompute.method = mcore::Recompute::Method::kBlock;
  double before = none;
  for (const int64_t layers : {1, 2, 4}) {
    run.recompute.num_layers = layers;
    EXPECT_GT(seconds(run), before);
    before = seconds(run);
  }
  run.recompute.num_layers = 5;  // more than a chunk has
  EXPECT_EQ(seconds(run), before);
  run.parallel.layout.assign(5, std::vector<int64_t>(4, 4));
  EXPECT_NEAR(seconds(run), before, 1e-9);
  run.recompute.num_layers = 2;
  const double laid_out = seconds(run);
  run.parallel.layout.clear();
  EXPECT_NEAR(laid_out, seconds(run), 1e-9);
}

TEST(StepTime, EmbeddingAndLossCountAsLayersWhereTheRunSaysSo) {
  mcore::Run run = llama3_70b();
  run.model.layers.resize(78, run.model.layers[0]);
  const double inferred = seconds(run);  // 78 + 2 divide by 20, 78 do not
  run.parallel.embedding_counts = run.parallel.loss_counts = true;
  EXPECT_DOUBLE_EQ(seconds(run), inferred);
  run.model.layers.resize(79, run.model.layers[0]);
  run.parallel.embedding_counts = false;
  const StepTime time = step_time(run, device("h100"));  // 20 layers a rank, 19 and the head
  EXPECT_NEAR(time.micro_batch.forward.gpu_s,
              19 * time.kinds[0].layer.forward_s + time.head.forward_s, 1e-9);
}

TEST(StepTime, AWindowSparesAttentionAndNothingElse) {
  mcore::Run run = gpt_oss_20b();
  const StepTime windowed = step_time(run, device("h100"));
  ASSERT_EQ(windowed.kinds.size(), 2u);
  EXPECT_TRUE(windowed.kinds[0].kind.windowed);
  EXPECT_EQ(windowed.kinds[0].count, 12);
  EXPECT_LT(windowed.kinds[0].layer.forward_s, windowed.kinds[1].layer.forward_s);
  EXPECT_EQ(windowed.kinds[0].layer.host_forward, windowed.kinds[1].layer.host_forward);
  run.model.attention.window = run.batch.seq;
  const StepTime whole = step_time(run, device("h100"));
  EXPECT_DOUBLE_EQ(whole.kinds[0].layer.forward_s, whole.kinds[1].layer.forward_s);
}

TEST(StepTime, LinearAttentionGrowsWithTheTokensAlone) {
  mcore::Run run = qwen3_next();
  const mcore::LayerKind linear = run.model.layers[0], softmax = run.model.layers[3];
  const auto forward = [&](const mcore::LayerKind& kind) {
    return layer_time(run, device("h100"), kind, ReplayPolicy::kRegion).forward_s;
  };
  run.batch.seq = 32768;
  const double short_linear = forward(linear), short_softmax = forward(softmax);
  run.batch.seq = 65536;
  EXPECT_NEAR(forward(linear) / short_linear, 2, 0.05);
  EXPECT_GT(forward(softmax) / short_softmax, 2.2);
}

TEST(StepTime, NotesSayWhatIsNotCovered) {
  EXPECT_TRUE(step_time(llama3_70b(), device("h100")).notes.empty());
  EXPECT_TRUE(has_note(step_time(llama3_70b(), device("a100")), "time.number-format"));
  EXPECT_TRUE(has_note(step_time(gpt_oss_20b(), device("h100")), "time.windows"));
  EXPECT_TRUE(has_note(step_time(qwen3_next(), device("h100")), "time.linear-attention"));
  mcore::Run run = with_labels(llama3_70b(), {"mlp", "mhc"});
  run.numerics.params = mcore::Precision::kF32;
  run.model.family = mcore::Family::kT5;
  run.optimizer.offload_fraction = 0.5;
  const StepTime time = step_time(run, device("h100"));
  EXPECT_EQ(time.notes.size(), 4u);
  EXPECT_TRUE(has_note(time, "time.unknown-label"));
  EXPECT_TRUE(has_note(time, "time.float32"));
  EXPECT_TRUE(has_note(time, "time.family"));
  EXPECT_TRUE(has_note(time, "time.offload"));
}

TEST(ModelSize, ParametersOfPublishedModels) {
  const Parameters llama = parameters(llama3_70b());
  EXPECT_NEAR(llama.dense, 70.55e9, 0.01e9);  // the model card's 70.6 B, with norms
  EXPECT_EQ(llama.routed, 0);
  const Parameters deepseek = parameters(deepseek_v3());
  EXPECT_NEAR(deepseek.dense + deepseek.routed, 671e9, 1e9);
  const Parameters qwen = parameters(qwen3_30b());
  EXPECT_NEAR(qwen.dense + qwen.routed, 30.5e9, 0.1e9);
  const Parameters next = parameters(qwen3_next());
  EXPECT_NEAR(next.dense + next.routed, 79.7e9, 0.5e9);
}

}  // namespace
}  // namespace refrain::cost
