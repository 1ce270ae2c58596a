#include <ATen/ops/linear.h>
#include <gtest/gtest.h>

#include "engine/kernels/gradient_check.h"
#include "engine/numerics/allocation_check.h"

namespace refrain::engine {
namespace {

using Shapes = std::vector<int64_t>;

/// x of shape `x`, y of shape `y`, both with the same number of tokens in front.
OpCase linear_case(const Shapes& x, const Shapes& y, bool bias, at::ScalarType dtype) {
  const int64_t in = model::numel(x) / x[0], out = model::numel(y) / y[0];
  OpCase test{.op = {.kind = model::OpKind::kLinear,
                     .name = "linear",
                     .attributes = model::LinearAttributes{in, out, bias},
                     .backward_reads = {0},
                     .splits_backward = true},
              .reads = {random_tensor(x, dtype, 1)},
              .params = {random_tensor({out, in}, dtype, 2)},
              .write_specs = {at::empty(y, at::TensorOptions().dtype(dtype))},
              .output_gradient = random_tensor(y, dtype, 3),
              .num_trained = bias ? 2u : 1u};
  if (bias) test.params.push_back(random_tensor({out}, dtype, 4));
  return test;
}

at::Tensor linear_reference(const Tensors& reads, const Tensors& params) {
  const at::Tensor x = reads[0].flatten(1);
  return params.size() > 1 ? at::linear(x, params[0], params[1]) : at::linear(x, params[0]);
}

using LinearParam = std::tuple<std::pair<Shapes, Shapes>, bool, at::ScalarType>;

class LinearTest : public testing::TestWithParam<LinearParam> {};

TEST_P(LinearTest, MatchesAutograd) {
  const auto& [shapes, bias, dtype] = GetParam();
  expect_matches_autograd(linear_case(shapes.first, shapes.second, bias, dtype), linear_reference,
                          4);
}

// Tokens: one; fewer than a chunk; one past a chunk of kReduceRows, and of kConvertRows.
INSTANTIATE_TEST_SUITE_P(
    Shapes, LinearTest,
    testing::Combine(testing::Values(std::pair(Shapes{1, 1}, Shapes{1, 1}),
                                     std::pair(Shapes{7, 5}, Shapes{7, 13}),
                                     std::pair(Shapes{129, 64}, Shapes{129, 130}),
                                     std::pair(Shapes{13, 12}, Shapes{13, 5, 4}),
                                     std::pair(Shapes{13, 3, 8}, Shapes{13, 20}),
                                     std::pair(Shapes{513, 24}, Shapes{513, 40})),
                     testing::Bool(), testing::Values(at::kFloat, at::kDouble, at::kBFloat16)));

TEST(Linear, TheTwoPartsOfBackwardEqualTheWhole) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const OpCase test = linear_case({130, 24}, {130, 40}, true, dtype);
    const model::Op op = complete(test, at::get_num_threads());
    for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
      const OpResult whole = run_op(test, {.set = set, .threads = at::get_num_threads()});
      const GradientOut x = new_gradient(test.reads[0], dtype, false);
      const GradientOut weight = new_gradient(test.params[0], at::kFloat, false);
      const GradientOut bias = new_gradient(test.params[1], at::kFloat, false);
      const Tensors saved = {test.reads[0]}, gradients = {test.output_gradient};
      const std::vector<GradientOut> reads = {x}, none(1), params = {weight, bias};
      const NanScratch scratch(op.backward_scratch);
      const auto backward = kernel_of(op.kind, set).backward;
      backward(op, {saved,
                    gradients,
                    none,
                    test.params,
                    params,
                    scratch.block(),
                    {},
                    BackwardPart::kWeights});
      backward(op,
               {{}, gradients, reads, test.params, {}, scratch.block(), {}, BackwardPart::kInputs});
      EXPECT_TRUE(same_bits(x.tensor, whole.read_gradients[0]));
      EXPECT_TRUE(same_bits(weight.tensor, whole.param_gradients[0]));
      EXPECT_TRUE(same_bits(bias.tensor, whole.param_gradients[1]));
    }
  }
}

TEST(Linear, InputGradientMayTakeOverTheStorageOfX) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    OpCase test = linear_case({70, 24}, {70, 24}, false, dtype);
    const OpResult apart = run_op(test, {});
    test.op.gradient_reuse = model::Op::GradientReuse{.from = 0, .read = 0};
    const OpResult shared = run_op(test, {});
    EXPECT_TRUE(same_bits(apart.read_gradients[0], shared.read_gradients[0]));
    EXPECT_TRUE(same_bits(apart.param_gradients[0], shared.param_gradients[0]));
  }
}

TEST(Linear, AllocatesNothing) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const OpCase test = linear_case({600, 24}, {600, 40}, true, dtype);
    const model::Op op = complete(test, at::get_num_threads());
    const OpResult ran = run_op(test, {.threads = at::get_num_threads()});
    const std::vector<GradientOut> reads = {{ran.read_gradients[0]}};
    const std::vector<GradientOut> params = {{ran.param_gradients[0]}, {ran.param_gradients[1]}};
    const Tensors gradients = {test.output_gradient};
    const NanScratch forward(op.forward_scratch), backward(op.backward_scratch);
    expect_no_allocation([&] {
      const Kernel& kernel = kernel_of(op.kind, KernelSet::kFused);
      kernel.forward(op, {test.reads, test.params, ran.writes, forward.block(), {}});
      kernel.backward(op,
                      {test.reads, gradients, reads, test.params, params, backward.block(), {}});
    });
  }
}

}  // namespace
}  // namespace refrain::engine
