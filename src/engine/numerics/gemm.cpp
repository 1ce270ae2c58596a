#include "engine/numerics/gemm.h"

#include <cstdlib>
#include <limits>

#include "base/error.h"

// The Fortran interface of the BLAS: the one that every library offers under the same names, and
// the one that LibTorch itself calls. Pointers throughout, column-major matrices, 32-bit sizes.
extern "C" {
// NOLINTBEGIN(readability-identifier-naming): the library's names
void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
            const int* k, const float* alpha, const float* a, const int* lda, const float* b,
            const int* ldb, const float* beta, float* c, const int* ldc);
void dgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
            const int* k, const double* alpha, const double* a, const int* lda, const double* b,
            const int* ldb, const double* beta, double* c, const int* ldc);
// NOLINTEND(readability-identifier-naming)
}

namespace refrain::engine {
namespace {

// MKL on Intel's CPUs divides some products among its threads along the sum, and then two threads
// give other bits than one. Its strict mode does not (Intel, "Conditional Numerical
// Reproducibility"), at the same speed on the shapes of docs/performance.md; on AMD's CPUs no
// product was seen to differ, and the mode is not documented for them. MKL reads this once, at its
// first call, so it is set before main. A value of the user's own stands.
[[maybe_unused]] const bool kAskedForStrictBits = [] {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_is("intel")) return ::setenv("MKL_CBWR", "AUTO,STRICT", /*overwrite=*/0) == 0;
#endif
  return false;
}();

int blas_int(int64_t value) {
  RC_CHECK(value >= 0 && value <= std::numeric_limits<int>::max(), "{}", value);
  return static_cast<int>(value);
}

enum class Stored : char { kPlain = 'N', kTransposed = 'T' };

/// Row-major C = A B is column-major C^T = B^T A^T: the library gets B first, and each matrix as
/// the transpose that its memory is in column-major reading.
template <class T, class Gemm>
void multiply(Gemm* gemm, Stored a_stored, Matrix<const T> a, Stored b_stored, Matrix<const T> b,
              Matrix<T> c, Blend blend) {
  const bool a_plain = a_stored == Stored::kPlain;
  const bool b_plain = b_stored == Stored::kPlain;
  const int64_t inner = a_plain ? a.columns : a.rows;
  RC_CHECK((a_plain ? a.rows : a.columns) == c.rows && (b_plain ? b.rows : b.columns) == inner &&
               (b_plain ? b.columns : b.rows) == c.columns,
           "[{}, {}] and [{}, {}] into [{}, {}]", a.rows, a.columns, b.rows, b.columns, c.rows,
           c.columns);
  const char a_code = static_cast<char>(a_stored), b_code = static_cast<char>(b_stored);
  const int m = blas_int(c.rows), n = blas_int(c.columns), k = blas_int(inner);
  const int lda = blas_int(a.stride), ldb = blas_int(b.stride), ldc = blas_int(c.stride);
  const T alpha = static_cast<T>(blend.scale), beta = blend.accumulate ? T(1) : T(0);
  gemm(&b_code, &a_code, &n, &m, &k, &alpha, b.data, &ldb, a.data, &lda, &beta, c.data, &ldc);
}

}  // namespace

void gemm_nn(Matrix<const float> a, Matrix<const float> b, Matrix<float> c, Blend blend) {
  multiply(sgemm_, Stored::kPlain, a, Stored::kPlain, b, c, blend);
}
void gemm_nn(Matrix<const double> a, Matrix<const double> b, Matrix<double> c, Blend blend) {
  multiply(dgemm_, Stored::kPlain, a, Stored::kPlain, b, c, blend);
}

void gemm_nt(Matrix<const float> a, Matrix<const float> b, Matrix<float> c, Blend blend) {
  multiply(sgemm_, Stored::kPlain, a, Stored::kTransposed, b, c, blend);
}
void gemm_nt(Matrix<const double> a, Matrix<const double> b, Matrix<double> c, Blend blend) {
  multiply(dgemm_, Stored::kPlain, a, Stored::kTransposed, b, c, blend);
}

void gemm_tn(Matrix<const float> a, Matrix<const float> b, Matrix<float> c, Blend blend) {
  multiply(sgemm_, Stored::kTransposed, a, Stored::kPlain, b, c, blend);
}
void gemm_tn(Matrix<const double> a, Matrix<const double> b, Matrix<double> c, Blend blend) {
  multiply(dgemm_, Stored::kTransposed, a, Stored::kPlain, b, c, blend);
}

}  // namespace refrain::engine
