#include "engine/numerics/gemm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <gtest/gtest.h>

#include "engine/numerics/allocation_check.h"
#include "engine/numerics/test_tensors.h"

namespace refrain::engine {
namespace {

template <class T>
Matrix<T> matrix_of(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<T>(), tensor.size(0), tensor.size(1), tensor.stride(0)};
}

struct Size {
  int64_t m, n, k;
};
const Size kSizes[] = {{1, 1, 1}, {7, 13, 5}, {64, 33, 129}, {130, 1, 64}, {1, 257, 300}};

template <class T>
class GemmTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmTest, Types);

TYPED_TEST(GemmTest, FormsEqualMatmulAlsoOfStridedMatrices) {
  using T = TypeParam;
  const at::ScalarType dtype = c10::CppTypeToScalarType<T>::value;
  for (const auto& [m, n, k] : kSizes) {
    // Columns cut out of wider tensors, as heads are.
    const auto a = random_tensor({m, k + 3}, dtype, 1).narrow(1, 2, k);
    const auto b = random_tensor({k, n + 2}, dtype, 2).narrow(1, 1, n);
    const auto at = random_tensor({k, m + 1}, dtype, 3).narrow(1, 1, m);
    const auto bt = random_tensor({n, k + 1}, dtype, 4).narrow(1, 0, k);
    for (const bool accumulate : {false, true}) {
      // Without accumulate C holds NaN, which must not be read.
      const auto fresh = [&] {
        return at::full({m, n + 4}, accumulate ? 1.0 : NAN, a.options()).narrow(1, 3, n);
      };
      const auto expect = [&](const at::Tensor& c, const at::Tensor& product) {
        const at::Tensor expected = product.to(at::kDouble) * 0.5 + (accumulate ? 1.0 : 0.0);
        EXPECT_LE(relative_error(c, expected), 4 * tolerance(dtype));
      };
      const Blend blend = {.scale = 0.5, .accumulate = accumulate};
      const at::Tensor nn = fresh(), nt = fresh(), tn = fresh();
      gemm_nn(matrix_of<T>(a).as_const(), matrix_of<T>(b).as_const(), matrix_of<T>(nn), blend);
      expect(nn, at::matmul(a, b));
      gemm_nt(matrix_of<T>(a).as_const(), matrix_of<T>(bt).as_const(), matrix_of<T>(nt), blend);
      expect(nt, at::matmul(a, bt.t()));
      gemm_tn(matrix_of<T>(at).as_const(), matrix_of<T>(b).as_const(), matrix_of<T>(tn), blend);
      expect(tn, at::matmul(at.t(), b));
    }
  }
}

// The property that training with any number of threads rests on. Sizes as linear layers have them.
TYPED_TEST(GemmTest, TwoThreadsGiveTheBitsOfOne) {
  using T = TypeParam;
  const at::ScalarType dtype = c10::CppTypeToScalarType<T>::value;
  for (const auto& [m, n, k] : {Size{512, 768, 256}, Size{1024, 384, 130}, Size{257, 2051, 129},
                                Size{64, 4096, 512}, Size{2048, 96, 512}, Size{96, 96, 4096},
                                Size{1, 1024, 512}, Size{300, 3, 384}, Size{256, 300, 1408}}) {
    const at::Tensor a = random_tensor({m, k}, dtype, 1), at = a.t().contiguous();
    const at::Tensor b = random_tensor({k, n}, dtype, 2), bt = b.t().contiguous();
    const auto products = [&](int threads) {
      const ThreadScope scope(threads);
      Tensors c;
      for (int i = 0; i < 3; ++i) c.push_back(at::empty({m, n}, a.options()));
      const auto ma = matrix_of<T>(a).as_const(), mb = matrix_of<T>(b).as_const();
      gemm_nn(ma, mb, matrix_of<T>(c[0]));
      gemm_nt(ma, matrix_of<T>(bt).as_const(), matrix_of<T>(c[1]));
      gemm_tn(matrix_of<T>(at).as_const(), mb, matrix_of<T>(c[2]));
      return c;
    };
    const Tensors one = products(1), two = products(2);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(same_bits(one[i], two[i])) << m << ' ' << n << ' ' << k << " form " << i;
    }
  }
}

TEST(Gemm, AllocatesNothing) {
  const at::Tensor a = random_tensor({130, 70}, at::kFloat, 1), c = at::empty({130, 130});
  expect_no_allocation([&] {
    gemm_nt(matrix_of<float>(a).as_const(), matrix_of<float>(a).as_const(), matrix_of<float>(c));
  });
}

TEST(Gemm, SizesThatDoNotFitAreOurBug) {
  const at::Tensor a = random_tensor({3, 4}, at::kFloat, 1), c = at::empty({3, 3});
  const auto ma = matrix_of<float>(a).as_const();
  EXPECT_THROW(gemm_nn(ma, ma, matrix_of<float>(c)), Bug);
  EXPECT_NO_THROW(gemm_nt(ma, ma, matrix_of<float>(c)));
}

}  // namespace
}  // namespace refrain::engine
