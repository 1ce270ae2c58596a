#include <ATen/ops/gelu.h>
#include <ATen/ops/silu.h>
#include <gtest/gtest.h>

#include "engine/kernels/gradient_check.h"

namespace refrain::engine {
namespace {

using config::ActivationKind;

enum class Place { kInPlace, kFresh };  // of the gradient

OpCase activation_case(ActivationKind kind, std::vector<int64_t> shape, at::ScalarType dtype,
                       Place place) {
  const bool gated = kind == ActivationKind::kSwiglu;
  const at::Tensor out = random_tensor(shape, dtype, 2);
  if (gated) shape.back() *= 2;
  // Three times as wide as normal: the tails of the functions count as well.
  OpCase test{.op = {.kind = model::OpKind::kActivation,
                     .name = "act",
                     .attributes = model::ActivationAttributes{kind},
                     .backward_reads = {0}},
              .reads = {random_tensor(shape, dtype, 1) * 3},
              .write_specs = {out},
              .output_gradient = out};
  if (place == Place::kInPlace && gated) test.op.gradient_reuse = {.from = 0, .read = 0};
  if (place == Place::kInPlace && !gated) test.op.shared_gradient_reads = {0};
  return test;
}

Reference reference(ActivationKind kind) {
  return [kind](const Tensors& reads, const Tensors&) {
    const at::Tensor& x = reads[0];
    if (kind == ActivationKind::kGeluErf) return at::gelu(x, "none");
    if (kind == ActivationKind::kGeluTanh) return at::gelu(x, "tanh");
    const int64_t f = x.size(-1) / 2;
    return at::silu(x.narrow(-1, 0, f)) * x.narrow(-1, f, f);
  };
}

using ActivationParam = std::tuple<ActivationKind, std::vector<int64_t>, at::ScalarType, Place>;

class ActivationTest : public testing::TestWithParam<ActivationParam> {};

TEST_P(ActivationTest, MatchesAutograd) {
  const auto& [kind, shape, dtype, place] = GetParam();
  expect_matches_autograd(activation_case(kind, shape, dtype, place), reference(kind));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ActivationTest,
    testing::Combine(testing::Values(ActivationKind::kGeluTanh, ActivationKind::kGeluErf,
                                     ActivationKind::kSwiglu),
                     testing::Values(std::vector<int64_t>{1, 1}, std::vector<int64_t>{7, 13},
                                     std::vector<int64_t>{129, 300}),
                     testing::Values(at::kFloat, at::kDouble, at::kBFloat16),
                     testing::Values(Place::kInPlace, Place::kFresh)));

TEST(Activation, FarTailsAreFiniteAndRight) {
  for (const ActivationKind kind :
       {ActivationKind::kGeluTanh, ActivationKind::kGeluErf, ActivationKind::kSwiglu}) {
    for (const double x : {-200.0, -100.0, -20.0, 20.0, 100.0, 200.0}) {
      OpCase test = activation_case(kind, {1, 2}, at::kFloat, Place::kFresh);
      test.reads[0].fill_(x);
      const OpResult expected = run_reference(test, reference(kind));
      const OpResult actual = run_op(test, {});
      EXPECT_LE(relative_error(actual.writes[0], expected.writes[0]), 1e-6) << x;
      EXPECT_LE(relative_error(actual.read_gradients[0], expected.read_gradients[0]), 1e-6) << x;
    }
  }
}

}  // namespace
}  // namespace refrain::engine
