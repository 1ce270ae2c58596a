#include "cost/program/price.h"

#include <gtest/gtest.h>

#include "model/dense.h"
#include "program/lower.h"

namespace refrain::cost {
namespace {

using program::StepKind;

const config::ModelConfig kModel = {.num_layers = 3,
                                    .hidden = 32,
                                    .num_heads = 4,
                                    .num_kv_heads = 2,
                                    .head_dim = 8,
                                    .ffn_hidden = 96,
                                    .vocab = 64,
                                    .max_positions = 64};

struct Lowered {
  explicit Lowered(program::Action inside, int64_t micro_batches = 1)
      : graph(model::build_dense(kModel, {.micro_batch = 2, .seq = 16})) {
    program::RecomputePlan plan{.actions = program::save_all(graph)};
    for (size_t b = 1; b + 1 < graph.blocks.size(); ++b) {
      plan.actions[b].assign(plan.actions[b].size(), inside);
      plan.actions[b][*graph.graph(b).output] = program::Action::kSave;
    }
    program = program::lower(graph, plan, {.num_micro_batches = micro_batches});
  }
  model::ModelGraph graph;
  program::Program program;
};

/// Only GEMMs take time.
MachineRates gemms_only() {
  MachineRates rates = default_rates();
  rates.gemm_flops = 1e9;
  rates.attention_forward_flops = rates.attention_backward_flops = 1e21;
  rates.memory_bytes = rates.activation_bytes = rates.update_bytes = 1e21;
  rates.step_s = 0;
  return rates;
}

TEST(Price, CountsEveryGemmOnceForwardAndTwiceBackward) {
  const Lowered kept(program::Action::kSave);
  const Timing timing = price(kept.graph, kept.program, gemms_only());
  // Tokens 32; a layer: qkv 32x64, out 32x32, gate and up 32x192, down 96x32; head 32x64.
  const double layer = 2.0 * 32 * (32 * 64 + 32 * 32 + 32 * 192 + 96 * 32);
  const double head = 2.0 * 32 * 32 * 64;
  EXPECT_NEAR(timing.forward_s, 3 * layer / 1e9, 1e-12);
  EXPECT_NEAR(timing.backward_s, (2 * 3 * layer + 3 * head) / 1e9, 1e-12);
  EXPECT_EQ(timing.replay_s, 0);
}

TEST(Price, ReplayIsWhatRecomputeAddsAndNothingElseChanges) {
  const Lowered kept(program::Action::kSave), dropped(program::Action::kRecompute);
  const Timing none = price(kept.graph, kept.program, gemms_only());
  const Timing full = price(dropped.graph, dropped.program, gemms_only());
  EXPECT_EQ(full.forward_s, none.forward_s);
  EXPECT_EQ(full.backward_s, none.backward_s);
  EXPECT_EQ(full.update_s, none.update_s);
  // The down projection's output is read by nobody: all but it is replayed.
  const double replayed = 2.0 * 32 * (32 * 64 + 32 * 32 + 32 * 192);
  EXPECT_NEAR(full.replay_s, 3 * replayed / 1e9, 1e-12);
}

TEST(Price, OfTwoMicroBatchesIsTwiceThatOfOneButForTheUpdate) {
  const Lowered one(program::Action::kRecompute), two(program::Action::kRecompute, 2);
  const Timing once = price(one.graph, one.program, gemms_only());
  const Timing twice = price(two.graph, two.program, gemms_only());
  EXPECT_NEAR(twice.forward_s, 2 * once.forward_s, 1e-12);
  EXPECT_NEAR(twice.replay_s, 2 * once.replay_s, 1e-12);
}

TEST(Price, SlowerMemoryCostsMoreAndAnOpCostsItsStart) {
  const Lowered kept(program::Action::kSave);
  MachineRates rates = gemms_only();
  const double before = price(kept.graph, kept.program, rates).total_s();
  rates.memory_bytes = 1e9;
  const double slower = price(kept.graph, kept.program, rates).total_s();
  EXPECT_GT(slower, before);
  rates.step_s = 1;
  EXPECT_NEAR(price(kept.graph, kept.program, rates).total_s() - slower,
              static_cast<double>(kept.program.steps.size()), 1e-6);
}

}  // namespace
}  // namespace refrain::cost
