// Plans run: what the planner promises of bytes is what the allocator holds, and no plan changes a
// bit of the training.

#include <gtest/gtest.h>

#include <random>

#include "exact_run.h"
#include "plan/planner.h"
#include "tiny_models.h"

namespace refrain::exact {
namespace {

class Draws {
 public:
  explicit Draws(uint32_t seed) : engine_(seed) {}

  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }
  bool coin() { return number(0, 1) == 1; }

  plan::Workload workload() {
    // The one with q/k norm has 2,048 choices a layer to measure: one draw in ten.
    const config::ModelConfig models[] = {tiny_llama(), tiny_gpt(), tiny_mixture()};
    plan::Workload workload{.model = number(0, 9) == 0 ? tiny_qwen() : models[number(0, 2)],
                            .rates = cost::default_rates()};
    workload.model.num_layers = number(1, 6);
    using config::AttentionBackend;
    workload.shape = {.micro_batch = number(1, 3),
                      .seq = number(3, 24),
                      .num_micro_batches = number(1, 3),
                      .attention = coin() ? AttentionBackend::kFused : AttentionBackend::kUnfused,
                      .dropout = coin() ? 0.2 : 0.0,
                      .clip_grad = coin() ? 0.5 : 0.0,
                      .threads = number(1, 2)};
    if (number(0, 3) == 0) workload.shape.precision = config::Precision::kBf16;
    return workload;
  }

 private:
  std::mt19937 engine_;
};

class Plans : public testing::TestWithParam<uint32_t> {};

TEST_P(Plans, RunInsideTheirBudgetToTheByteAndChangeNoBit) {
  Draws draws(GetParam());
  for (int i = 0; i < 25; ++i) {
    SCOPED_TRACE(i);
    const plan::Workload workload = draws.workload();
    const plan::PreparedStep none =
        plan::prepare(workload.model, workload.shape, {}, config::ReplayPolicy::kDemand);
    const plan::Planner planner(workload);
    const int64_t least = planner.least_peak().count();
    const Bytes budget(draws.number(least, std::max(least, none.timeline.peak.count())));
    const auto plan = planner.plan(budget);
    ASSERT_TRUE(plan.value);
    ASSERT_LE(plan.value->step.timeline.peak, budget);
    // run_exactly holds the allocator's peak against the ledger's, step by step.
    expect_equal(run_exactly(plan.value->step, workload.model.vocab, workload.shape),
                 run_exactly(none, workload.model.vocab, workload.shape));
  }
}

// 200 draws, in parts that can run beside each other.
INSTANTIATE_TEST_SUITE_P(Seeds, Plans, testing::Range(uint32_t{1}, uint32_t{9}));

}  // namespace
}  // namespace refrain::exact
