#include <gtest/gtest.h>

#include "engine/kernels/gradient_check.h"
#include "engine/numerics/philox.h"

namespace refrain::engine {
namespace {

constexpr DropoutKey kDropoutKey = RunOptions{}.key;

OpCase dropout_case(double probability, const std::vector<int64_t>& shape, at::ScalarType dtype) {
  const at::Tensor x = random_tensor(shape, dtype, 1);
  return {.op = {.kind = model::OpKind::kDropout,
                 .name = "dropout",
                 .attributes = model::DropoutAttributes{probability},
                 .in_place_read = 0,
                 .shared_gradient_reads = {0}},
          .reads = {x},
          .write_specs = {x},
          .output_gradient = random_tensor(shape, dtype, 2)};
}

OpCase add_case(double probability, const std::vector<int64_t>& shape, at::ScalarType dtype) {
  OpCase test = dropout_case(probability, shape, dtype);
  test.op.kind = model::OpKind::kAdd;
  test.op.in_place_read = 1;
  if (probability == 0) test.op.shared_gradient_reads = {0, 1};
  test.reads.push_back(random_tensor(shape, dtype, 3));
  return test;
}

at::Tensor factors(double probability, const at::Tensor& like) {
  return dropout_factors(kDropoutKey, probability, like.sizes(), at::kDouble);
}

using DropoutParam = std::tuple<double, std::vector<int64_t>, at::ScalarType>;

class DropoutTest : public testing::TestWithParam<DropoutParam> {};

TEST_P(DropoutTest, MatchesAutograd) {
  const auto& [p, shape, dtype] = GetParam();
  expect_matches_autograd(
      dropout_case(p, shape, dtype),
      [p = p](const Tensors& reads, const Tensors&) { return reads[0] * factors(p, reads[0]); });
}

TEST_P(DropoutTest, AddMatchesAutograd) {
  const auto& [p, shape, dtype] = GetParam();
  expect_matches_autograd(add_case(p, shape, dtype), [p = p](const Tensors& reads, const Tensors&) {
    return reads[0] + reads[1] * factors(p, reads[1]);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, DropoutTest,
    testing::Combine(testing::Values(0.0, 0.1, 0.5),
                     testing::Values(std::vector<int64_t>{1, 1}, std::vector<int64_t>{7, 13},
                                     std::vector<int64_t>{129, 300}),  // several tasks
                     testing::Values(at::kFloat, at::kDouble, at::kBFloat16)));

TEST(DropoutKernel, BackwardDropsWhatForwardDropped) {
  const OpCase test = dropout_case(0.3, {50, 40}, at::kFloat);
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    const OpResult result = run_op(test, {.set = set});
    const at::Tensor dropped = result.writes[0].eq(0);
    EXPECT_TRUE(dropped.equal(result.read_gradients[0].eq(0)));
    EXPECT_GT(dropped.sum().item<int64_t>(), 0);
  }
}

TEST(DropoutKernel, AnotherStreamDropsOthers) {
  const OpCase test = dropout_case(0.5, {50, 40}, at::kFloat);
  const at::Tensor one = run_op(test, {.key = {1, 1}}).writes[0];
  const at::Tensor two = run_op(test, {.key = {1, 2}}).writes[0];
  EXPECT_FALSE(one.eq(0).equal(two.eq(0)));
}

TEST(DropoutKernel, AddWithoutDropoutLeavesTheGradientAlone) {
  const OpCase test = add_case(0, {6, 5}, at::kFloat);
  const OpResult result = run_op(test, {});
  EXPECT_TRUE(same_bits(result.read_gradients[0], test.output_gradient));
  EXPECT_TRUE(same_bits(result.read_gradients[1], test.output_gradient));
}

TEST(DropoutKernel, AddWithDropoutLeavesTheResidualGradientAlone) {
  const OpCase test = add_case(0.5, {6, 50}, at::kFloat);
  EXPECT_TRUE(same_bits(run_op(test, {}).read_gradients[0], test.output_gradient));
}

}  // namespace
}  // namespace refrain::engine
