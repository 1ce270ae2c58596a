#include "accuracy/report/evaluate.h"

#include <gtest/gtest.h>

#include "accuracy/report/predict.h"

namespace refrain::accuracy {
namespace {

constexpr std::string_view kPublished =
    "model,hardware,num_gpus,parallelism,precision,seq_len,mbs,gbs,step_time_ms,tflops_per_gpu,"
    "peak_mem_gb,peak_mem_kind\n";

std::vector<Outcome> outcomes_of(std::string_view text) { return evaluate(text).value.value(); }

std::string refusal(std::string_view text) {
  const auto outcomes = evaluate(text);
  return outcomes.value ? "" : outcomes.findings.at(0).rule;
}

TEST(Evaluate, ATableOfNeitherKindSaysWhatTheNearerOneLacks) {
  EXPECT_EQ(refusal("a,b\n1,2\n"), "accuracy.missing-column");
  const auto lacking = evaluate("model,hardware,num_gpus,parallelism,seq_len,mbs\n");
  ASSERT_FALSE(lacking.value);
  EXPECT_NE(lacking.findings[0].message.find(": gbs"), std::string::npos);
  EXPECT_EQ(refusal("model,hardware,num_gpus,parallelism,seq_len,mbs,gbs\n"), "");
  EXPECT_EQ(refusal(""), "accuracy.empty-file");
}

TEST(Evaluate, ATableWithoutRowsHasNoOutcomes) { EXPECT_TRUE(outcomes_of(kPublished).empty()); }

TEST(Evaluate, APublishedStepIsPredictedWithinAFifth) {
  // 10119.8 ms: Megatron-Bridge docs/performance-summary-archive.md, NeMo 25.09.
  const auto outcomes = outcomes_of(std::string(kPublished) +
                                    "LLAMA3_70B,H100,64,TP4_PP8_CP1_VP5_EPn/a,FP8,8192,1,128,"
                                    "10119.8,,,\n");
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].row, 1);
  EXPECT_TRUE(outcomes[0].modelled);
  EXPECT_EQ(outcomes[0].time_measured_ms, 10119.8);
  ASSERT_TRUE(outcomes[0].time_ms);
  EXPECT_NEAR(*outcomes[0].time_ms, 10119.8, 2000);
}

TEST(Evaluate, AStepFollowsFromPublishedFlopsWhereItIsNotPrinted) {
  const auto outcomes =
      outcomes_of(std::string(kPublished) +
                  "LLAMA3_70B,H100,64,TP4_PP8_CP1_VP5_EPn/a,FP8,8192,1,128,,727,,\n"
                  "LLAMA3_70B,H100,64,TP4_PP8_CP1_VP5_EPn/a,FP8,8192,1,128,10119.8,727,,\n");
  ASSERT_EQ(outcomes.size(), 2u);
  // The same source prints 727 TFLOP/s for the step of 10119.8 ms.
  EXPECT_NEAR(*outcomes[0].time_measured_ms, 10119.8, 200);
  EXPECT_EQ(outcomes[1].time_measured_ms, 10119.8);
}

TEST(Evaluate, ARowThatCannotBeReadSaysWhyAndKeepsItsPlace) {
  const auto outcomes =
      outcomes_of(std::string(kPublished) +
                  "LLAMA3_70C,H100,64,TP4_PP8_CP1_VP5_EPn/a,FP8,8192,1,128,10119.8,,,\n"
                  "LLAMA3_70B,H100,64,TP4_PP8_CP1_VP5_EPn/a,FP8,8192,1,128,10119.8,,,\n");
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_FALSE(outcomes[0].modelled);
  EXPECT_NE(outcomes[0].reason.find("did you mean"), std::string::npos);
  EXPECT_NE(outcomes[0].name.find("LLAMA3_70C"), std::string::npos);
  EXPECT_TRUE(outcomes[0].family.empty());
  EXPECT_TRUE(outcomes[1].modelled);
  EXPECT_EQ(outcomes[1].row, 2);
}

TEST(Evaluate, ARowWithoutFiguresIsNotModelled) {
  const auto outcomes = outcomes_of(
      std::string(kPublished) + "LLAMA3_70B,H100,64,TP4_PP8_CP1_VP5_EPn/a,FP8,8192,1,128,,,,\n");
  EXPECT_FALSE(outcomes.at(0).modelled);
  EXPECT_NE(outcomes.at(0).reason.find("nothing to compare"), std::string::npos);
}

TEST(Evaluate, AnEncoderHasNoPredictedTime) {
  const auto outcomes = outcomes_of(
      "case,num-layers,hidden-size,num-attention-heads,seq-length,micro-batch-size,"
      "peak_allocated_bytes_max,iteration_time_s_median,encoder-num-layers,decoder-num-layers,"
      "encoder-seq-length,decoder-seq-length,num_gpus,bf16\n"
      "t5/x,,768,12,,4,,0.3,12,12,512,128,8,True\n");
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].time_ms, std::nullopt);
  EXPECT_DOUBLE_EQ(*outcomes[0].time_measured_ms, 300);
  EXPECT_NE(outcomes[0].reason.find("encoder"), std::string::npos);
}

constexpr std::string_view kRecorded =
    "case,num-layers,hidden-size,num-attention-heads,seq-length,micro-batch-size,"
    "global-batch-size,num_gpus,bf16,platform,attention-backend,use-distributed-optimizer,"
    "no-gradient-accumulation-fusion,env_CUBLAS_WORKSPACE_CONFIG,train-iters,"
    "peak_allocated_bytes_max\n";

TEST(Evaluate, ARecordedPeakIsPredictedWithinATenthOfAPercent) {
  // tests/functional_tests/test_cases/gpt/gpt3_mcore_te_tp1_pp1_resume_torch_dist_dist_optimizer_
  // no_mmap_bin_files of Megatron-LM, dgx_a100.
  const auto outcomes =
      outcomes_of(std::string(kRecorded) +
                  "gpt/x,12,512,8,1024,4,32,8,True,dgx_a100,unfused,True,True,:4096:8,100,"
                  "4673069568\n");
  ASSERT_EQ(outcomes.size(), 1u);
  ASSERT_TRUE(outcomes[0].error_percent()) << outcomes[0].reason;
  EXPECT_NEAR(*outcomes[0].error_percent(), 0, 0.1);
  EXPECT_GE(*outcomes[0].slack_percent(), 0);
}

TEST(Evaluate, AFirstStepHoldsLessThanTheSecond) {
  const std::string row = "gpt/x,12,512,8,1024,4,32,8,True,dgx_a100,unfused,True,True,:4096:8,";
  const auto outcomes =
      outcomes_of(std::string(kRecorded) + row + "100,4673069568\n" + row + "1,4673069568\n");
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_LT(outcomes[1].peak_point, outcomes[0].peak_point);
}

TEST(SteadyBatch, FewMicroBatchesStayAndManyBecomeEnough) {
  mcore::Run run;
  run.model.layers.resize(12);
  run.batch = {.micro = 2, .global = 64};
  run.parallel = {.pipeline = 2, .virtual_stages = 2, .data = 4};
  EXPECT_EQ(mcore::num_micro_batches(with_steady_batch(run)), 8);
  run.batch.global = 1'000'000'000;
  const mcore::Run steady = with_steady_batch(run);
  EXPECT_GT(mcore::num_micro_batches(steady), 100);
  EXPECT_LT(mcore::num_micro_batches(steady), 10000);
  EXPECT_EQ(mcore::num_micro_batches(steady) % run.parallel.pipeline, 0);
}

}  // namespace
}  // namespace refrain::accuracy
