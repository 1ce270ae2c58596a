#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

#include "engine/kernels/gradient_check.h"

namespace refrain::engine {
namespace {

struct RopeShape {
  int64_t batch, seq, heads, num_rotated, head_dim;
};

at::Tensor table_of(int64_t seq, int64_t head_dim, at::ScalarType dtype) {
  const at::Tensor exponent = at::arange(0, head_dim, 2, at::kDouble) / head_dim;
  const at::Tensor angles = at::outer(at::arange(seq, at::kDouble), (exponent * -9.21).exp());
  return at::stack({angles.cos(), angles.sin()}).to(dtype);
}

OpCase rope_case(const RopeShape& shape, at::ScalarType dtype) {
  const at::Tensor x =
      random_tensor({shape.batch * shape.seq, shape.heads, shape.head_dim}, dtype, 1);
  return {.op = {.kind = model::OpKind::kRope,
                 .name = "rope",
                 .attributes = model::RopeAttributes{shape.seq, shape.num_rotated, shape.head_dim},
                 .in_place_read = 0,
                 .shared_gradient_reads = {0}},
          .reads = {x},
          .params = {table_of(shape.seq, shape.head_dim, accumulate_type(dtype))},
          .write_specs = {x},
          .output_gradient = random_tensor(x.sizes(), dtype, 2)};
}

/// Hugging Face's formulation: x cos + rotate_half(x) sin over the rotated heads.
Reference reference(const RopeShape& shape) {
  return [shape](const Tensors& reads, const Tensors& params) {
    const int64_t half = shape.head_dim / 2;
    const at::Tensor x = reads[0].view({shape.batch, shape.seq, shape.heads, shape.head_dim});
    const at::Tensor turned = x.narrow(2, 0, shape.num_rotated);
    const at::Tensor rest = x.narrow(2, shape.num_rotated, shape.heads - shape.num_rotated);
    const auto twice = [&](int64_t part) {
      const at::Tensor values = params[0].select(0, part);
      return at::cat({values, values}, -1).view({1, shape.seq, 1, shape.head_dim});
    };
    const at::Tensor rotated_half =
        at::cat({-turned.narrow(-1, half, half), turned.narrow(-1, 0, half)}, -1);
    const at::Tensor out = turned * twice(0) + rotated_half * twice(1);
    return at::cat({out, rest}, 2).view(reads[0].sizes());
  };
}

class RopeTest : public testing::TestWithParam<std::tuple<RopeShape, at::ScalarType>> {};

TEST_P(RopeTest, MatchesAutograd) {
  const auto& [shape, dtype] = GetParam();
  expect_matches_autograd(rope_case(shape, dtype), reference(shape));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, RopeTest,
    testing::Combine(testing::Values(RopeShape{1, 1, 1, 1, 2}, RopeShape{2, 7, 4, 3, 6},
                                     RopeShape{1, 13, 3, 3, 16}, RopeShape{2, 129, 6, 4, 64},
                                     RopeShape{1, 13, 1, 1, 34}),
                     testing::Values(at::kFloat, at::kDouble, at::kBFloat16)));

TEST(Rope, HeadsBehindTheRotatedOnesKeepTheirBits) {
  const OpCase test = rope_case({1, 9, 5, 3, 8}, at::kFloat);
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    const OpResult result = run_op(test, {.set = set});
    EXPECT_TRUE(same_bits(result.writes[0].narrow(1, 3, 2), test.reads[0].narrow(1, 3, 2)));
    EXPECT_TRUE(
        same_bits(result.read_gradients[0].narrow(1, 3, 2), test.output_gradient.narrow(1, 3, 2)));
  }
}

TEST(Rope, PositionStartsAgainWithEachSequence) {
  const RopeShape shape = {2, 5, 2, 2, 4};
  OpCase test = rope_case(shape, at::kFloat);
  test.reads[0].narrow(0, 5, 5).copy_(test.reads[0].narrow(0, 0, 5));
  const at::Tensor out = run_op(test, {}).writes[0];
  EXPECT_TRUE(same_bits(out.narrow(0, 0, 5), out.narrow(0, 5, 5)));
  EXPECT_FALSE(same_bits(out.narrow(0, 0, 5), test.reads[0].narrow(0, 0, 5)));
}

TEST(Rope, RefusesAGradientInOtherStorage) {
  const OpCase test = rope_case({1, 3, 1, 1, 4}, at::kFloat);
  const Tensors write_gradients = {test.output_gradient.clone()};
  const std::vector<GradientOut> elsewhere = {{test.output_gradient.clone()}};
  const model::Op op = complete(test, 1);
  EXPECT_THROW(kernel_of(op.kind, KernelSet::kFused)
                   .backward(op, {{}, write_gradients, elsewhere, test.params, {}, {}, {}}),
               Bug);
}

}  // namespace
}  // namespace refrain::engine
