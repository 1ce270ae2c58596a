#include "engine/kernels/adamw.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "engine/kernels/gradient_check.h"
#include "engine/numerics/allocation_check.h"

namespace refrain::engine {
namespace {

struct State {
  at::Tensor weight, m, v, copy;
};

State run_steps(int64_t size, at::ScalarType dtype, KernelSet set, bool decay, int threads = 1) {
  const ThreadScope scope(threads);
  const at::Tensor weight = random_tensor({size}, dtype, 1);
  State state{weight, at::zeros_like(weight), at::zeros_like(weight), weight.to(at::kBFloat16)};
  AdamW options{.lr = 1e-2, .gradient_factor = 0.5};
  for (options.step = 1; options.step <= 3; ++options.step) {
    const at::Tensor gradient = random_tensor({size}, dtype, 10 + options.step);
    const AllocationCounter counter;
    adamw(options, decay, state.weight, gradient, state.m, state.v, state.copy, set);
    if (set == KernelSet::kFused) {
      EXPECT_EQ(counter.count(), 0);
    }
  }
  return state;
}

/// By LibTorch, which wants the clipped gradient.
State run_reference_steps(int64_t size, bool decay) {
  const AdamW options{.lr = 1e-2, .gradient_factor = 0.5};
  const at::Tensor weight = random_tensor({size}, at::kDouble, 1);
  State state{weight, at::zeros_like(weight), at::zeros_like(weight), {}};
  for (int64_t step = 1; step <= 3; ++step) {
    const at::Tensor gradient = random_tensor({size}, at::kDouble, 10 + step) * 0.5;
    at::_fused_adamw_({state.weight}, {gradient}, {state.m}, {state.v}, {},
                      {at::full({}, static_cast<double>(step))}, options.lr, options.beta1,
                      options.beta2, decay ? options.weight_decay : 0.0, options.eps, false, false);
  }
  return state;
}

TEST(AdamW, MatchesLibTorch) {
  for (const int64_t size : {1, 13, 1000}) {
    for (const bool decay : {false, true}) {
      const State expected = run_reference_steps(size, decay);
      for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
        for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
          const State actual = run_steps(size, dtype, set, decay);
          EXPECT_LE(relative_error(actual.weight, expected.weight), tolerance(dtype));
          EXPECT_LE(relative_error(actual.m, expected.m), tolerance(dtype));
          EXPECT_LE(relative_error(actual.v, expected.v), tolerance(dtype));
        }
      }
    }
  }
}

TEST(AdamW, CopyIsTheRoundedWeight) {
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    const State state = run_steps(1000, at::kFloat, set, true);
    EXPECT_TRUE(same_bits(state.copy, state.weight.to(at::kBFloat16)));
  }
}

TEST(AdamW, FirstStepMovesEachWeightByTheLearningRate) {
  // With bias correction m / sqrt(v) is the gradient's sign, whatever its size.
  const at::Tensor weight = at::full({4}, 1.0), m = at::zeros_like(weight), v = m.clone();
  const at::Tensor gradient = at::full({4}, -1e3);
  adamw({.lr = 0.25, .weight_decay = 0.0}, true, weight, gradient, m, v, {}, KernelSet::kFused);
  EXPECT_LE(relative_error(weight, at::full({4}, 1.25)), 1e-6);
}

TEST(AdamW, TwoThreadsGiveTheBitsOfOne) {
  const int64_t size = 3 * 65536 + 17;
  const State one = run_steps(size, at::kFloat, KernelSet::kFused, true, 1);
  const State two = run_steps(size, at::kFloat, KernelSet::kFused, true, 2);
  EXPECT_TRUE(same_bits(one.weight, two.weight));
  EXPECT_TRUE(same_bits(one.m, two.m));
  EXPECT_TRUE(same_bits(one.v, two.v));
}

TEST(SumOfSquares, IsExactToDoublePrecisionOnAnyNumberOfThreads) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const int64_t size : {0, 1, 13, 65536, 200001}) {
      const at::Tensor gradient = random_tensor({size}, dtype, 1);
      const double expected = gradient.to(at::kDouble).square().sum().item().toDouble();
      const auto sum = [&](int threads) {
        const ThreadScope scope(threads);
        return sum_of_squares(gradient);
      };
      EXPECT_NEAR(sum(1), expected, 1e-13 * expected);
      EXPECT_EQ(sum(1), sum(2));
    }
  }
}

TEST(SumOfSquares, DoesNotOverflowInFloat) {
  EXPECT_DOUBLE_EQ(sum_of_squares(at::full({4}, 1e30f)), 4 * std::pow(double{1e30f}, 2));
}

}  // namespace
}  // namespace refrain::engine
