#include <ATen/ops/layer_norm.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/kernels/gradient_check.h"

namespace refrain::engine {
namespace {

using config::NormKind;

OpCase norm_case(NormKind kind, const std::vector<int64_t>& shape, at::ScalarType dtype) {
  const int64_t columns = shape.back();
  const at::Tensor x = random_tensor(shape, dtype, 1) + 0.5;
  const int64_t rows = x.numel() / columns;
  const bool layer_norm = kind == NormKind::kLayerNorm;
  const auto statistics = at::TensorOptions().dtype(accumulate_type(dtype));
  OpCase test{.op = {.kind = model::OpKind::kNorm,
                     .name = "norm",
                     .attributes = model::NormAttributes{kind, 1e-5},
                     .backward_reads = {0, 2}},
              .reads = {x},
              .params = {random_tensor({columns}, dtype, 2)},
              .write_specs = {x, layer_norm ? at::empty({2, rows}, statistics)
                                            : at::empty({rows}, statistics)},
              .output_gradient = random_tensor(shape, dtype, 3),
              .num_trained = layer_norm ? 2u : 1u};
  if (layer_norm) test.params.push_back(random_tensor({columns}, dtype, 4));
  return test;
}

Reference reference(NormKind kind) {
  return [kind](const Tensors& reads, const Tensors& params) {
    const at::Tensor& x = reads[0];
    if (kind == NormKind::kLayerNorm) {
      return at::layer_norm(x, {x.size(-1)}, params[0], params[1], 1e-5);
    }
    return x * (x.square().mean(-1, true) + 1e-5).rsqrt() * params[0];
  };
}

using NormParam = std::tuple<NormKind, std::vector<int64_t>, at::ScalarType>;

class NormTest : public testing::TestWithParam<NormParam> {};

TEST_P(NormTest, MatchesAutograd) {
  const auto& [kind, shape, dtype] = GetParam();
  // Weight gradients sum over rows, whose number bounds the growth of rounding.
  expect_matches_autograd(norm_case(kind, shape, dtype), reference(kind), 4);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, NormTest,
    testing::Combine(testing::Values(NormKind::kRmsNorm, NormKind::kLayerNorm),
                     testing::Values(std::vector<int64_t>{1, 2}, std::vector<int64_t>{7, 13},
                                     std::vector<int64_t>{129, 65},     // one row past a chunk
                                     std::vector<int64_t>{128, 64},     // exactly one chunk
                                     std::vector<int64_t>{300, 520},    // columns past a piece
                                     std::vector<int64_t>{13, 3, 16}),  // q/k norm: heads
                     testing::Values(at::kFloat, at::kDouble, at::kBFloat16)));

TEST(Norm, StatisticsAreMeanAndReciprocalDeviation) {
  const OpCase test = norm_case(NormKind::kLayerNorm, {3, 5}, at::kDouble);
  const at::Tensor x = test.reads[0];
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    const at::Tensor statistics = run_op(test, {.set = set}).writes[1];
    EXPECT_LE(relative_error(statistics.select(0, 0), x.mean(-1)), 1e-14);
    const at::Tensor variance = x.var(-1, /*unbiased=*/false);
    EXPECT_LE(relative_error(statistics.select(0, 1), (variance + 1e-5).rsqrt()), 1e-14);
  }
}

TEST(Norm, LargeMeanDoesNotCancel) {
  OpCase test = norm_case(NormKind::kLayerNorm, {4, 256}, at::kFloat);
  test.reads[0] = test.reads[0] + 1000;
  const OpResult expected = run_reference(test, reference(NormKind::kLayerNorm));
  EXPECT_LE(relative_error(run_op(test, {}).writes[0], expected.writes[0]), 1e-4);
}

TEST(Norm, GradientsNobodyWantsAreLeftOut) {
  const OpCase test = norm_case(NormKind::kLayerNorm, {9, 8}, at::kFloat);
  const model::Op op = complete(test, 1);
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    const OpResult whole = run_op(test, {.set = set});
    const NanScratch scratch(op.backward_scratch);
    const Tensors saved = {test.reads[0], whole.writes[1]};
    const Tensors write_gradients = {test.output_gradient, at::Tensor()};
    const std::vector<GradientOut> nothing(1);
    const GradientOut bias = new_gradient(test.params[1], at::kFloat, false);
    const std::vector<GradientOut> only_bias = {{}, bias};
    kernel_of(op.kind, set)
        .backward(op,
                  {saved, write_gradients, nothing, test.params, only_bias, scratch.block(), {}});
    EXPECT_TRUE(same_bits(bias.tensor, whole.param_gradients[1]));
  }
}

TEST(Norm, ScratchOfAnotherSizeIsRefused) {
  const OpCase test = norm_case(NormKind::kRmsNorm, {130, 24}, at::kFloat);
  const OpResult whole = run_op(test, {});
  model::Op op = complete(test, 1);
  EXPECT_EQ(op.backward_scratch, Bytes(2 * 24 * 4));  // two chunks, 192 bytes
  const Tensors saved = {test.reads[0], whole.writes[1]};
  const Tensors write_gradients = {test.output_gradient, at::Tensor()};
  const std::vector<GradientOut> x_gradient = {new_gradient(test.reads[0], at::kFloat, false)};
  const std::vector<GradientOut> weight = {new_gradient(test.params[0], at::kFloat, false)};
  for (const Bytes wrong : {Bytes(0), Bytes(128), Bytes(256)}) {
    const NanScratch scratch(wrong);
    EXPECT_THROW(
        kernel_of(op.kind, KernelSet::kFused)
            .backward(
                op, {saved, write_gradients, x_gradient, test.params, weight, scratch.block(), {}}),
        Bug);
  }
}

}  // namespace
}  // namespace refrain::engine
