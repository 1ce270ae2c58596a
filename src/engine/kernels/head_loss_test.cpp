#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/error.h"
#include "engine/kernels/gradient_check.h"
#include "engine/numerics/allocation_check.h"

namespace refrain::engine {
namespace {

constexpr double kScale = 1.0 / 64;

struct HeadCase {
  int64_t tokens, hidden, vocab, chunk_tokens;
  at::ScalarType dtype;

  at::Tensor x() const { return random_tensor({tokens, hidden}, dtype, 1); }
  at::Tensor weight() const { return random_tensor({vocab, hidden}, dtype, 2); }
  at::Tensor targets() const {
    const at::Generator generator = at::detail::createCPUGenerator(3);
    return at::randint(vocab, {tokens}, generator, at::kInt);
  }
  model::Op op(int threads) const {
    const OpCase test{.op = {.kind = model::OpKind::kHeadLoss,
                             .name = "head",
                             .attributes = model::HeadLossAttributes{chunk_tokens}},
                      .reads = {x()},
                      .params = {weight()}};
    return complete(test, threads);
  }
};

struct HeadResult {
  double loss;
  at::Tensor x_gradient, weight_gradient;
};

struct HeadOptions {
  KernelSet set = KernelSet::kFused;
  int threads = 1;
  bool accumulate = false, in_place = false, training = true;
};

HeadResult run(const HeadCase& test, const HeadOptions& options) {
  const ThreadScope scope(options.threads);
  const model::Op op = test.op(options.threads);
  const NanScratch scratch(op.forward_scratch);
  HeadLossArgs args;
  args.x = test.x();
  args.targets = test.targets();
  args.weight = test.weight();
  args.gradient_scale = kScale;
  args.scratch = scratch.block();
  if (options.training) {
    args.x_gradient = options.in_place ? args.x : at::full_like(args.x, NAN);
    args.weight_gradient =
        new_gradient(args.weight, accumulate_type(test.dtype), options.accumulate);
  }
  const AllocationCounter counter;
  const double loss = head_loss(op, args, options.set);
  if (options.set == KernelSet::kFused) {
    EXPECT_EQ(counter.count(), 0);
  }
  return {loss, args.x_gradient, args.weight_gradient.tensor};
}

HeadResult reference(const HeadCase& test) {
  const at::Tensor x = test.x().to(at::kDouble).clone().set_requires_grad(true);
  const at::Tensor weight = test.weight().to(at::kDouble).clone().set_requires_grad(true);
  const at::Tensor loss =
      at::cross_entropy_loss(at::linear(x, weight), test.targets().to(at::kLong), {}, /*sum*/ 2);
  torch::autograd::backward({loss}, {at::full({}, kScale, at::kDouble)});
  return {loss.item().toDouble(), x.grad(), weight.grad()};
}

class HeadLossTest : public testing::TestWithParam<HeadCase> {};

TEST_P(HeadLossTest, MatchesAutograd) {
  const HeadCase& test = GetParam();
  const HeadResult expected = reference(test);
  const double limit = 4 * tolerance(test.dtype);
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    for (const bool accumulate : {false, true}) {
      const HeadResult actual = run(test, {.set = set, .accumulate = accumulate});
      // bf16 computes in float32, on inputs that bf16 holds exactly.
      const double loss_limit = test.dtype == at::kDouble ? 1e-12 : 2e-6;
      EXPECT_NEAR(actual.loss, expected.loss, loss_limit * expected.loss);
      expect_gradient(actual.x_gradient, expected.x_gradient, false, limit);
      expect_gradient(actual.weight_gradient, expected.weight_gradient, accumulate, limit);
    }
  }
}

TEST_P(HeadLossTest, GradientMayTakeOverTheStorageOfX) {
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    const HeadResult apart = run(GetParam(), {.set = set});
    const HeadResult in_place = run(GetParam(), {.set = set, .in_place = true});
    EXPECT_EQ(apart.loss, in_place.loss);
    EXPECT_TRUE(same_bits(apart.x_gradient, in_place.x_gradient));
    EXPECT_TRUE(same_bits(apart.weight_gradient, in_place.weight_gradient));
  }
}

TEST_P(HeadLossTest, TwoThreadsGiveTheBitsOfOne) {
  const HeadResult one = run(GetParam(), {.threads = 1}), two = run(GetParam(), {.threads = 2});
  EXPECT_EQ(one.loss, two.loss);
  EXPECT_TRUE(same_bits(one.x_gradient, two.x_gradient));
  EXPECT_TRUE(same_bits(one.weight_gradient, two.weight_gradient));
}

TEST_P(HeadLossTest, EvaluationGivesTheLossOfTraining) {
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    EXPECT_EQ(run(GetParam(), {.set = set}).loss,
              run(GetParam(), {.set = set, .training = false}).loss);
  }
}

// One token and word; chunks that end evenly and not; more words than bf16 converts at a time.
INSTANTIATE_TEST_SUITE_P(
    Shapes, HeadLossTest, testing::ValuesIn([] {
      std::vector<HeadCase> cases;
      for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
        cases.insert(cases.end(), {{1, 1, 1, 1, dtype},
                                   {13, 7, 33, 5, dtype},
                                   {64, 24, 257, 32, dtype},
                                   {9, 16, model::kConvertVocab + 1, 4, dtype}});
      }
      return cases;
    }()));

TEST(HeadLoss, LargeLogitsStayFinite) {
  const HeadCase test = {4, 8, 16, 4, at::kFloat};
  const NanScratch scratch(test.op(1).forward_scratch);
  const ThreadScope scope(1);
  HeadLossArgs args;
  args.x = test.x() * 1e4;
  args.targets = test.targets();
  args.weight = test.weight() * 1e4;
  args.scratch = scratch.block();
  args.x_gradient = at::empty_like(args.x);
  EXPECT_TRUE(std::isfinite(head_loss(test.op(1), args, KernelSet::kFused)));
  EXPECT_TRUE(args.x_gradient.isfinite().all().item().toBool());
}

TEST(HeadLoss, ATargetOutsideTheVocabularyIsOurBug) {
  const HeadCase test = {2, 4, 8, 2, at::kFloat};
  const ThreadScope scope(1);
  for (const auto& [target, valid] : {std::pair(-1, false), {0, true}, {7, true}, {8, false}}) {
    for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
      const NanScratch scratch(test.op(1).forward_scratch);
      HeadLossArgs args;
      args.x = test.x();
      args.targets = at::full({2}, target, at::kInt);
      args.weight = test.weight();
      args.scratch = scratch.block();
      if (valid) {
        EXPECT_NO_THROW(head_loss(test.op(1), args, set)) << target;
      } else {
        EXPECT_THROW(head_loss(test.op(1), args, set), Bug) << target;
      }
    }
  }
}

}  // namespace
}  // namespace refrain::engine
