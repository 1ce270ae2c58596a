// Fused attention, unfused attention and softmax, against autograd and against each other.
#include "engine/kernels/attention.h"

#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "engine/kernels/gradient_check.h"
#include "engine/numerics/allocation_check.h"

namespace refrain::engine {
namespace {

const DropoutKey kKey = {.seed = 7, .stream = 11};

at::Tensor tokens_like(const AttentionAttributes& a, int64_t heads, at::ScalarType dtype,
                       uint64_t seed) {
  return random_tensor({a.batch * a.seq, heads, a.head_dim}, dtype, seed);
}

Tensors random_reads(const AttentionAttributes& a, at::ScalarType dtype) {
  if (!a.separate_qkv) return {tokens_like(a, a.num_heads + 2 * a.num_kv_heads, dtype, 1)};
  return {tokens_like(a, a.num_heads, dtype, 1), tokens_like(a, a.num_kv_heads, dtype, 2),
          tokens_like(a, a.num_kv_heads, dtype, 3)};
}

OpCase fused_case(const AttentionAttributes& a, at::ScalarType dtype) {
  const auto statistics = at::TensorOptions().dtype(accumulate_type(dtype));
  OpCase test{.op = {.kind = model::OpKind::kAttention, .name = "attention", .attributes = a},
              .reads = random_reads(a, dtype),
              .write_specs = {tokens_like(a, a.num_heads, dtype, 0),
                              at::empty({a.batch, a.num_heads, a.seq}, statistics)},
              .output_gradient = tokens_like(a, a.num_heads, dtype, 4)};
  for (int id = 0; id < static_cast<int>(test.reads.size()) + 2; ++id) {
    test.op.backward_reads.push_back(id);  // the reads, then out and log-sum-exp
  }
  return test;
}

/// [b * s, heads, d] -> [b, H, s, d], each kv head repeated for its readers.
at::Tensor heads(const AttentionAttributes& a, const at::Tensor& tokens, int64_t first,
                 int64_t count) {
  return tokens.reshape({a.batch, a.seq, tokens.size(1), a.head_dim})
      .narrow(2, first, count)
      .transpose(1, 2)
      .repeat_interleave(a.num_heads / count, 1);
}

at::Tensor reference_scores(const AttentionAttributes& a, const Tensors& reads) {
  const at::Tensor q = heads(a, reads[0], 0, a.num_heads);
  const at::Tensor k =
      heads(a, reads[a.separate_qkv ? 1 : 0], a.separate_qkv ? 0 : a.num_heads, a.num_kv_heads);
  const at::Tensor future = at::ones({a.seq, a.seq}, at::kBool).triu(1);
  return (at::matmul(q, k.transpose(2, 3)) / std::sqrt(static_cast<double>(a.head_dim)))
      .masked_fill(future, -INFINITY);
}

/// By autograd, with the mask of the plain twin's generator.
at::Tensor reference(const AttentionAttributes& a, const Tensors& reads) {
  const int64_t first_v = a.separate_qkv ? 0 : a.num_heads + a.num_kv_heads;
  at::Tensor p = at::softmax(reference_scores(a, reads), -1);
  if (a.dropout > 0) p = p * dropout_factors(kKey, a.dropout, p.sizes(), p.options());
  return at::matmul(p, heads(a, reads.back(), first_v, a.num_kv_heads))
      .transpose(1, 2)
      .reshape({a.batch * a.seq, a.num_heads, a.head_dim});
}

struct Dims {
  int64_t batch, seq, num_heads, num_kv_heads, head_dim;
};
// One token; odd sizes; one row past a block; several key tiles; one kv head shared out to tasks;
// as many kv heads as heads.
const Dims kDims[] = {{1, 1, 1, 1, 4},  {2, 7, 2, 1, 8},   {1, 13, 4, 4, 16},
                      {3, 65, 4, 2, 8}, {1, 300, 2, 1, 8}, {1, 129, 1, 1, 8}};

struct Variant {
  bool separate_qkv;
  double dropout;
};
const Variant kVariants[] = {{false, 0}, {false, 0.3}, {true, 0.3}};

using AttentionParam = std::tuple<Dims, Variant, at::ScalarType>;

class AttentionTest : public testing::TestWithParam<AttentionParam> {
 protected:
  AttentionAttributes attention() const {
    const auto& [dims, variant, dtype] = GetParam();
    return {dims.batch,    dims.seq,        dims.num_heads,      dims.num_kv_heads,
            dims.head_dim, variant.dropout, variant.separate_qkv};
  }
  at::ScalarType dtype() const { return std::get<2>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(All, AttentionTest,
                         testing::Combine(testing::ValuesIn(kDims), testing::ValuesIn(kVariants),
                                          testing::Values(at::kFloat, at::kDouble, at::kBFloat16)));

TEST_P(AttentionTest, FusedMatchesAutograd) {
  const AttentionAttributes a = attention();
  expect_matches_autograd(
      fused_case(a, dtype()),
      [&](const Tensors& reads, const Tensors&) { return reference(a, reads); }, 4);
}

TEST_P(AttentionTest, FusedKeepsTheLogSumExp) {
  const AttentionAttributes a = attention();
  const OpCase test = fused_case(a, dtype());
  Tensors wide;
  for (const at::Tensor& read : test.reads) wide.push_back(read.to(at::kDouble));
  const at::Tensor expected = at::logsumexp(reference_scores(a, wide), -1);
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    const at::Tensor lse = run_op(test, {.set = set}).writes[1];
    EXPECT_LE(relative_error(lse, expected), dtype() == at::kDouble ? 1e-12 : 2e-6);
  }
}

/// Scores, softmax and context with their backwards, storage handed on as the executor does.
class Unfused {
 public:
  Unfused(const AttentionAttributes& a, at::ScalarType dtype) : a_(a), dtype_(dtype) {
    const at::Tensor square =
        at::empty({a.batch, a.num_heads, a.seq, a.seq}, at::TensorOptions().dtype(dtype));
    const at::Tensor out = tokens_like(a, a.num_heads, dtype, 0);
    const Tensors reads = random_reads(a, dtype);
    const Tensors q_k(reads.begin(), reads.begin() + (a.separate_qkv ? 2 : 1));
    scores_ = {.op = {.kind = model::OpKind::kAttentionScores, .attributes = a},
               .reads = q_k,
               .write_specs = {square}};
    softmax_ = {.op = {.kind = model::OpKind::kSoftmax, .attributes = model::SoftmaxAttributes{}},
                .reads = {square},
                .write_specs = {square}};
    context_ = {.op = {.kind = model::OpKind::kAttentionContext, .attributes = a},
                .reads = {square, reads.back()},
                .write_specs = {out}};
    output_gradient = tokens_like(a, a.num_heads, dtype, 4);
    complete_with(1);
  }

  void complete_with(int threads) {
    scores_op_ = complete(scores_, threads);
    softmax_op_ = complete(softmax_, threads);
    context_op_ = complete(context_, threads);
  }

  OpResult run(const RunOptions& options) {
    const ThreadScope scope(options.threads);
    complete_with(options.threads);
    probabilities_ = at::full_like(softmax_.write_specs[0], NAN);
    p_gradient_ = at::full_like(probabilities_, NAN);
    OpResult result{.writes = {at::full_like(context_.write_specs[0], NAN)}};
    for (const at::Tensor& read : reads()) {
      gradients_.push_back(new_gradient(read, dtype_, options.accumulate));
      result.read_gradients.push_back(gradients_.back().tensor);
    }
    forward(options, result.writes[0]);
    backward(options);
    return result;
  }

  Tensors reads() const {
    Tensors all = scores_.reads;
    if (a_.separate_qkv) all.push_back(context_.reads[1]);
    return all;
  }

  void forward(const RunOptions& options, const at::Tensor& out) const {
    const Tensors square = {probabilities_};  // softmax is in place
    call_forward(options.set, scores_op_, scores_.reads, square);
    call_forward(options.set, softmax_op_, square, square);
    call_forward(options.set, context_op_, {probabilities_, context_.reads[1]}, {out});
  }

  void backward(const RunOptions& options) const {
    const GradientOut p = {p_gradient_, false};
    call_backward(options.set, context_op_, {probabilities_, context_.reads[1]}, output_gradient,
                  {p, gradients_.back()});
    call_backward(options.set, softmax_op_, {probabilities_}, p_gradient_, {p});
    std::vector<GradientOut> of_scores(gradients_.begin(),
                                       gradients_.begin() + (a_.separate_qkv ? 2 : 1));
    if (!a_.separate_qkv) of_scores[0].accumulate = true;  // context has been there
    call_backward(options.set, scores_op_, scores_.reads, p_gradient_, of_scores);
  }

  at::Tensor output_gradient;

 private:
  static void call_forward(KernelSet set, const model::Op& op, const Tensors& reads,
                           const Tensors& writes) {
    const NanScratch scratch(op.forward_scratch);
    const AllocationCounter counter;
    kernel_of(op.kind, set).forward(op, {reads, {}, writes, scratch.block(), kKey});
    if (set == KernelSet::kFused) {
      EXPECT_EQ(counter.count(), 0);
    }
  }
  static void call_backward(KernelSet set, const model::Op& op, const Tensors& saved,
                            const at::Tensor& gradient, const std::vector<GradientOut>& out) {
    const Tensors write_gradients = {gradient};
    const NanScratch scratch(op.backward_scratch);
    const AllocationCounter counter;
    kernel_of(op.kind, set)
        .backward(op, {saved, write_gradients, out, {}, {}, scratch.block(), kKey});
    if (set == KernelSet::kFused) {
      EXPECT_EQ(counter.count(), 0);
    }
  }

  AttentionAttributes a_;
  at::ScalarType dtype_;
  OpCase scores_, softmax_, context_;
  model::Op scores_op_, softmax_op_, context_op_;
  at::Tensor probabilities_, p_gradient_;
  std::vector<GradientOut> gradients_;
};

TEST_P(AttentionTest, UnfusedMatchesAutograd) {
  const AttentionAttributes a = attention();
  const OpResult expected =
      run_reference(fused_case(a, dtype()),
                    [&](const Tensors& reads, const Tensors&) { return reference(a, reads); });
  // bf16 rounds scores and probabilities as well, which the reference does not.
  const double limit = tolerance(dtype()) * (dtype() == at::kBFloat16 ? 10 : 4);
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    for (const bool accumulate : {false, true}) {
      const OpResult actual =
          Unfused(a, dtype()).run({.set = set, .accumulate = accumulate, .key = kKey});
      EXPECT_LE(relative_error(actual.writes[0], expected.writes[0]), limit);
      for (size_t i = 0; i < actual.read_gradients.size(); ++i) {
        expect_gradient(actual.read_gradients[i], expected.read_gradients[i], accumulate, limit);
      }
    }
  }
}

TEST_P(AttentionTest, UnfusedGivesTheSameBitsOnTwoThreads) {
  const OpResult one = Unfused(attention(), dtype()).run({.threads = 1});
  const OpResult two = Unfused(attention(), dtype()).run({.threads = 2});
  EXPECT_TRUE(same_bits(one.writes[0], two.writes[0]));
  for (size_t i = 0; i < one.read_gradients.size(); ++i) {
    EXPECT_TRUE(same_bits(one.read_gradients[i], two.read_gradients[i]));
  }
}

const AttentionAttributes kMiddling = {2, 130, 4, 2, 16, 0.3, false};

TEST(Attention, MasksAreExact) {
  // A future key, however large, changes nothing, nor does what stands in a dropped element.
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    OpCase test = fused_case(kMiddling, at::kFloat);
    const at::Tensor before = run_op(test, {.set = set}).writes[0];
    test.reads[0].narrow(0, 129, 1).fill_(1e4);  // the last token of the first sequence
    const at::Tensor after = run_op(test, {.set = set}).writes[0];
    EXPECT_TRUE(same_bits(before.narrow(0, 0, 129), after.narrow(0, 0, 129)));
    EXPECT_FALSE(same_bits(before.narrow(0, 129, 1), after.narrow(0, 129, 1)));
    EXPECT_TRUE(same_bits(before.narrow(0, 130, 130), after.narrow(0, 130, 130)));
  }
}

TEST(Attention, LargeScoresStayFinite) {
  OpCase test = fused_case(kMiddling, at::kFloat);
  test.reads[0].mul_(100);
  const OpResult result = run_op(test, {});
  EXPECT_TRUE(result.writes[0].isfinite().all().item().toBool());
  EXPECT_TRUE(result.read_gradients[0].isfinite().all().item().toBool());
}

TEST(Attention, ScoresLeaveTheValueHeadsOfAPackedGradientAlone) {
  const AttentionAttributes& a = kMiddling;
  const Tensors reads = random_reads(a, at::kFloat);
  const at::Tensor gradient =
      random_tensor({a.batch, a.num_heads, a.seq, a.seq}, at::kFloat, 5).tril();
  OpCase test{.op = {.kind = model::OpKind::kAttentionScores, .attributes = a},
              .reads = reads,
              .write_specs = {gradient}};
  const model::Op op = complete(test, at::get_num_threads());
  for (const KernelSet set : {KernelSet::kFused, KernelSet::kPlain}) {
    const GradientOut out = new_gradient(reads[0], at::kFloat, true);
    const Tensors write_gradients = {gradient};
    const std::vector<GradientOut> outs = {out};
    kernel_of(op.kind, set).backward(op, {reads, write_gradients, outs, {}, {}, {}, {}});
    const int64_t first_v = a.num_heads + a.num_kv_heads;
    EXPECT_TRUE(out.tensor.narrow(1, first_v, a.num_kv_heads).eq(1).all().item().toBool());
    EXPECT_FALSE(out.tensor.narrow(1, 0, first_v).eq(1).any().item().toBool());
  }
}

TEST(Softmax, MatchesAutogradInPlace) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const int64_t columns : {1, 7, 129}) {
      const at::Tensor x = random_tensor({2, 3, 5, columns}, dtype, 1);
      const OpCase test{.op = {.kind = model::OpKind::kSoftmax,
                               .attributes = model::SoftmaxAttributes{},
                               .backward_reads = {1},
                               .in_place_read = 0,
                               .shared_gradient_reads = {0}},
                        .reads = {x},
                        .write_specs = {x},
                        .output_gradient = random_tensor(x.sizes(), dtype, 2)};
      expect_matches_autograd(
          test, [](const Tensors& reads, const Tensors&) { return at::softmax(reads[0], -1); });
    }
  }
}

TEST(Softmax, MaskedElementsBecomeZero) {
  const at::Tensor x = random_tensor({4, 40}, at::kFloat, 1);
  x.narrow(1, 17, 23).fill_(-INFINITY);
  const Tensors tensors = {x};
  kernel_of(model::OpKind::kSoftmax, KernelSet::kFused)
      .forward({.kind = model::OpKind::kSoftmax}, {tensors, {}, tensors, {}, {}});
  EXPECT_TRUE(same_bits(x.narrow(1, 17, 23), at::zeros({4, 23})));
}

TEST(Attention, FusedAllocatesNothing) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const OpCase test = fused_case(kMiddling, dtype);
    const model::Op op = complete(test, at::get_num_threads());
    const OpResult ran = run_op(test, {.threads = at::get_num_threads()});
    const Tensors saved = {test.reads[0], ran.writes[0], ran.writes[1]};
    const Tensors gradients = {test.output_gradient, at::Tensor()};
    const std::vector<GradientOut> out = {{ran.read_gradients[0]}};
    const NanScratch forward(op.forward_scratch), backward(op.backward_scratch);
    expect_no_allocation([&] {
      const Kernel& kernel = kernel_of(op.kind, KernelSet::kFused);
      kernel.forward(op, {test.reads, {}, ran.writes, forward.block(), kKey});
      kernel.backward(op, {saved, gradients, out, {}, {}, backward.block(), kKey});
    });
  }
}

}  // namespace
}  // namespace refrain::engine
