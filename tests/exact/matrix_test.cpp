// The promise of the engine over a generated matrix of models, shapes and settings: the allocator
// holds what the ledger says, account by account, after every step and at most within it; and
// losses, gradients and weights are the same bits whatever is recomputed, on one thread or two.

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "exact_run.h"
#include "tiny_models.h"

namespace refrain::exact {
namespace {

using config::AttentionBackend;
using config::ReplayPolicy;

struct MatrixCase {
  config::ModelConfig model;
  config::RunShape shape;
  config::RecomputeSetting setting;
  ReplayPolicy policy = ReplayPolicy::kDemand;
};

std::string describe(const MatrixCase& run) {
  return run.model.name + " " + to_text(run.setting) +
         (run.policy == ReplayPolicy::kRegion ? " region" : " demand") +
         (run.shape.attention == AttentionBackend::kFused ? " fused" : " unfused") + " dropout " +
         std::to_string(run.shape.dropout) + " micro-batches " +
         std::to_string(run.shape.num_micro_batches) + " threads " +
         std::to_string(run.shape.threads);
}

Outcome run_case(const MatrixCase& run) {
  SCOPED_TRACE(describe(run));
  return exact::run_exactly(plan::prepare(run.model, run.shape, run.setting, run.policy),
                            run.model.vocab, run.shape);
}

class Matrix : public testing::TestWithParam<
                   std::tuple<config::ModelConfig, AttentionBackend, double, int64_t>> {};

TEST_P(Matrix, IsByteExactAndBitwiseEqual) {
  const auto& [model, attention, dropout, num_micro_batches] = GetParam();
  MatrixCase run{.model = model,
                 .shape = {.micro_batch = 2,
                           .seq = 13,
                           .num_micro_batches = num_micro_batches,
                           .attention = attention,
                           .dropout = dropout}};
  const Outcome reference = run_case(run);
  EXPECT_GT(reference.norms[0], 0);
  EXPECT_NE(reference.hashes[0], reference.hashes[1]);
  for (const config::RecomputeSetting& setting : all_settings()) {
    for (ReplayPolicy policy : {ReplayPolicy::kDemand, ReplayPolicy::kRegion}) {
      for (int64_t threads : {1, 2}) {
        run.setting = setting;
        run.policy = policy;
        run.shape.threads = threads;
        SCOPED_TRACE(describe(run));
        expect_equal(run_case(run), reference);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Matrix,
    testing::Combine(testing::ValuesIn(tiny_models()),
                     testing::Values(AttentionBackend::kFused, AttentionBackend::kUnfused),
                     testing::Values(0.0, 0.2), testing::Values(1, 2)),
    [](const testing::TestParamInfo<Matrix::ParamType>& drawn) {
      return std::get<0>(drawn.param).name +
             (std::get<1>(drawn.param) == AttentionBackend::kFused ? "Fused" : "Unfused") +
             (std::get<2>(drawn.param) > 0 ? "Dropout" : "") + "MicroBatches" +
             std::to_string(std::get<3>(drawn.param));
    });

TEST(Exact, ClippingWaitsForTheLastGradientAndChangesNoBitElsewhere) {
  for (const config::ModelConfig& model : tiny_models()) {
    MatrixCase run{.model = model, .shape = {.micro_batch = 2, .seq = 13, .clip_grad = 0.5}};
    const Outcome reference = run_case(run);
    run.setting = {.granularity = config::Granularity::kFull};
    expect_equal(run_case(run), reference);
    run.shape.clip_grad = 0;
    EXPECT_EQ(run_case(run).hashes[0], reference.hashes[0]);  // hashed before clipping
  }
}

TEST(Exact, Bf16IsByteExactAndBitwiseEqual) {
  for (const config::ModelConfig& model : tiny_models()) {
    for (AttentionBackend attention : {AttentionBackend::kFused, AttentionBackend::kUnfused}) {
      MatrixCase run{.model = model,
                     .shape = {.micro_batch = 2,
                               .seq = 13,
                               .precision = config::Precision::kBf16,
                               .attention = attention,
                               .dropout = 0.1}};
      const Outcome reference = run_case(run);
      for (const config::RecomputeSetting& setting : all_settings()) {
        run.setting = setting;
        run.shape.threads = 3 - run.shape.threads;  // one, two, one, ...
        expect_equal(run_case(run), reference);
      }
    }
  }
}

TEST(Exact, OddShapesAreByteExactAndBitwiseEqual) {
  for (const auto& [micro_batch, seq] :
       {std::pair{1, 1}, std::pair{3, 1}, std::pair{1, 2}, std::pair{1, 61}, std::pair{5, 7}}) {
    for (config::ModelConfig model : {tiny_llama(), tiny_gpt()}) {
      model.num_heads = model.num_kv_heads = 1;
      for (AttentionBackend attention : {AttentionBackend::kFused, AttentionBackend::kUnfused}) {
        MatrixCase run{.model = model,
                       .shape = {.micro_batch = micro_batch, .seq = seq, .attention = attention}};
        const Outcome reference = run_case(run);
        run.setting = {.granularity = config::Granularity::kFull, .num_layers = 3};
        run.shape.threads = 2;
        expect_equal(run_case(run), reference);
      }
    }
  }
}

// How often kernels really ran, by op: once forward, and again as often as the setting says.
TEST(Exact, OpsRunAsOftenAsTheSettingSays) {
  const auto runs_of = [](const char* op, std::vector<config::Label> labels, ReplayPolicy policy) {
    const MatrixCase run{
        .model = tiny_llama(),
        .shape = {.micro_batch = 1, .seq = 8},
        .setting = {.granularity = config::Granularity::kSelective, .labels = labels},
        .policy = policy};
    const plan::PreparedStep step = plan::prepare(run.model, run.shape, run.setting, run.policy);
    engine::install_counting_allocator();
    at::set_num_threads(static_cast<int>(run.shape.threads));
    engine::Weights weights = engine::init_weights(step.program, 7);
    int64_t count = 0;
    engine::Executor(step.graph, step.program, weights)
        .run(pattern(run.model.vocab, 1), {}, [&](size_t s) {
          const program::Step& ran = step.program.steps[s];
          const bool forward =
              ran.kind == program::StepKind::kForward || ran.kind == program::StepKind::kReplay;
          if (forward && step.graph.graph(ran.op.block).ops[ran.op.op].name == op) ++count;
        });
    return count;
  };
  using config::Label;
  constexpr int64_t kLayers = 4;
  EXPECT_EQ(runs_of("mlp.down_proj", {Label::kMlp}, ReplayPolicy::kDemand), kLayers);
  EXPECT_EQ(runs_of("mlp.down_proj", {Label::kMlp}, ReplayPolicy::kRegion), 2 * kLayers);
  EXPECT_EQ(runs_of("mlp.up_proj", {Label::kMlp}, ReplayPolicy::kDemand), 2 * kLayers);
  const std::vector<Label> both = {Label::kCoreAttn, Label::kMlp};
  EXPECT_EQ(runs_of("attn.core", both, ReplayPolicy::kDemand), kLayers);
  EXPECT_EQ(runs_of("attn.core", both, ReplayPolicy::kRegion), 2 * kLayers);
}

}  // namespace
}  // namespace refrain::exact
