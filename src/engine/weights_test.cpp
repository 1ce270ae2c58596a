#include "engine/weights.h"

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/memory/counting_allocator.h"
#include "plan/prepare.h"

namespace refrain::engine {
namespace {

constexpr int64_t kHidden = 64;

program::Program program_of(config::Precision precision) {
  const config::ModelConfig model = {.num_layers = 2,
                                     .hidden = kHidden,
                                     .num_heads = 4,
                                     .num_kv_heads = 2,
                                     .head_dim = 16,
                                     .ffn_hidden = 96,
                                     .vocab = 256,
                                     .max_positions = 64};
  return plan::prepare(model, {.seq = 8, .precision = precision}, {}, config::ReplayPolicy::kDemand)
      .program;
}

class InitWeights : public testing::Test {
 protected:
  void SetUp() override { install_counting_allocator(); }
};

size_t index_of(const program::Program& program, std::string_view name) {
  for (size_t p = 0; p < program.params.specs.size(); ++p) {
    if (program.params.specs[p].name == name) return p;
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST_F(InitWeights, DrawsTheDeclaredSpread) {
  const program::Program program = program_of(config::Precision::kF32);
  const Weights weights = init_weights(program, 1);
  const at::Tensor& up = weights.weight[index_of(program, "layers.0.mlp.up_proj.weight")];
  EXPECT_NEAR(up.mean().item<double>(), 0, 1e-3);
  EXPECT_NEAR(up.std().item<double>(), 0.02, 5e-4);
  // Residual projections: 0.02 / sqrt(2 layers).
  const at::Tensor& down = weights.weight[index_of(program, "layers.0.mlp.down_proj.weight")];
  EXPECT_NEAR(down.std().item<double>(), 0.02 / std::sqrt(4.0), 4e-4);
  EXPECT_TRUE(at::equal(weights.weight[index_of(program, "layers.1.attn.norm.weight")],
                        at::ones({kHidden})));
  EXPECT_EQ(weights.first_moment[0].abs().max().item<double>(), 0);
}

TEST_F(InitWeights, DependsOnTheSeedAndOnNothingElse) {
  const program::Program program = program_of(config::Precision::kF32);
  at::set_num_threads(1);
  const Weights one = init_weights(program, 1);
  at::set_num_threads(2);
  const Weights same = init_weights(program, 1);
  const Weights other = init_weights(program, 2);
  at::set_num_threads(1);
  for (size_t p = 0; p < one.weight.size(); ++p) {
    EXPECT_TRUE(at::equal(one.weight[p], same.weight[p]));
  }
  EXPECT_FALSE(at::equal(one.weight[0], other.weight[0]));
}

TEST_F(InitWeights, LayersDoNotShareTheirNumbers) {
  const program::Program program = program_of(config::Precision::kF32);
  const Weights weights = init_weights(program, 1);
  EXPECT_FALSE(at::equal(weights.weight[index_of(program, "layers.0.mlp.up_proj.weight")],
                         weights.weight[index_of(program, "layers.1.mlp.up_proj.weight")]));
}

TEST_F(InitWeights, RopeTableHoldsCosinesThenSines) {
  const program::Program program = program_of(config::Precision::kF64);
  const Weights weights = init_weights(program, 1);
  const at::Tensor& table = weights.weight[index_of(program, "rope.table")];
  ASSERT_EQ(table.sizes(), (at::IntArrayRef{2, 8, 8}));
  const double angle = 5 * std::pow(10000.0, -3.0 / 8);
  EXPECT_DOUBLE_EQ(table[0][5][3].item<double>(), std::cos(angle));
  EXPECT_DOUBLE_EQ(table[1][5][3].item<double>(), std::sin(angle));
}

TEST_F(InitWeights, Bf16WeightsAreTheRoundedMasters) {
  const program::Program program = program_of(config::Precision::kBf16);
  const Weights weights = init_weights(program, 1);
  EXPECT_EQ(weights.weight[0].scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(weights.weight[0], weights.master[0].to(at::kBFloat16)));
}

}  // namespace
}  // namespace refrain::engine
