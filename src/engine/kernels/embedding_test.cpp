#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/kernels/gradient_check.h"

namespace refrain::engine {
namespace {

struct EmbeddingShape {
  int64_t batch, seq, vocab, hidden;
  bool positions;
};

OpCase embedding_case(const EmbeddingShape& shape, at::ScalarType dtype) {
  const int64_t tokens = shape.batch * shape.seq;
  // Small vocabularies: most tokens occur several times, which is what scattering must get right.
  const at::Tensor ids = (random_tensor({shape.batch, shape.seq}, at::kDouble, 5) * 100)
                             .to(at::kInt)
                             .remainder(shape.vocab);
  OpCase test{.op = {.kind = model::OpKind::kEmbedding,
                     .name = "embedding",
                     .attributes = model::EmbeddingAttributes{shape.seq, shape.positions},
                     .backward_reads = {0}},
              .reads = {ids},
              .params = {random_tensor({shape.vocab, shape.hidden}, dtype, 1)},
              .write_specs = {at::empty({tokens, shape.hidden}, dtype)},
              .output_gradient = random_tensor({tokens, shape.hidden}, dtype, 2),
              .num_trained = shape.positions ? 2u : 1u,
              .has_input_gradient = false};
  if (shape.positions) {  // more positions than the sequence has
    test.params.push_back(random_tensor({shape.seq + 3, shape.hidden}, dtype, 3));
  }
  return test;
}

Reference reference(const EmbeddingShape& shape) {
  return [shape](const Tensors& reads, const Tensors& params) {
    const at::Tensor ids = reads[0].flatten().to(at::kLong);
    const at::Tensor x = at::embedding(params[0], ids);
    if (!shape.positions) return x;
    return x + at::embedding(params[1], at::arange(ids.numel(), at::kLong).remainder(shape.seq));
  };
}

class EmbeddingTest : public testing::TestWithParam<std::tuple<EmbeddingShape, at::ScalarType>> {};

TEST_P(EmbeddingTest, MatchesAutograd) {
  const auto& [shape, dtype] = GetParam();
  // Up to some hundred summands a row.
  expect_matches_autograd(embedding_case(shape, dtype), reference(shape), 4);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, EmbeddingTest,
    testing::Combine(testing::Values(EmbeddingShape{1, 1, 1, 1, false},
                                     EmbeddingShape{1, 1, 3, 2, true},
                                     EmbeddingShape{2, 7, 5, 24, true},
                                     EmbeddingShape{1, 13, 50, 65, false},  // a piece of one column
                                     EmbeddingShape{3, 129, 11, 200, true}),
                     testing::Values(at::kFloat, at::kDouble, at::kBFloat16)));

TEST(Embedding, RowsNobodyReadGetAGradientOfZero) {
  OpCase test = embedding_case({1, 4, 6, 3, false}, at::kFloat);
  test.reads[0] = at::tensor({1, 1, 4, 1}, at::kInt).view({1, 4});
  const at::Tensor gradient = run_op(test, {}).param_gradients[0];
  for (const int64_t row : {0, 2, 3, 5}) {
    EXPECT_EQ(gradient.select(0, row).abs().sum().item<float>(), 0) << row;
  }
  EXPECT_TRUE(same_bits(gradient.select(0, 4), test.output_gradient.select(0, 2)));
}

TEST(Embedding, RefusesTokensOutsideTheVocabulary) {
  for (const int threads : {1, 2}) {
    for (const int token : {-1, 6}) {
      OpCase test = embedding_case({2, 4, 6, 3, false}, at::kFloat);
      test.reads[0].view({-1}).select(0, 7).fill_(token);
      EXPECT_THROW(run_op(test, {.threads = threads}), Bug) << token;
      const model::Op op = complete(test, threads);
      const GradientOut weight = new_gradient(test.params[0], at::kFloat, false);
      EXPECT_THROW(
          kernel_of(op.kind, KernelSet::kFused)
              .backward(
                  op,
                  {test.reads, {&test.output_gradient, 1}, {}, test.params, {&weight, 1}, {}, {}}),
          Bug);
    }
  }
}

TEST(Embedding, RefusesMorePositionsThanThereAre) {
  OpCase test = embedding_case({1, 4, 6, 3, true}, at::kFloat);
  test.params[1] = test.params[1].narrow(0, 0, 3);
  EXPECT_THROW(run_op(test, {}), Bug);
}

}  // namespace
}  // namespace refrain::engine
