// The one seam to the GEMM library: products of row-major matrices through the BLAS that LibTorch
// carries (MKL in the wheel). Called outside a loop of ours the library uses its own threads,
// inside one it stays on the caller's; a product's bits do not depend on their number. It
// allocates nothing that LibTorch's allocator would see.
#pragma once

#include "engine/numerics/matrix.h"

namespace refrain::engine {

/// How a product meets what stands in C: C = scale * product, plus C where `accumulate` is set.
/// Without it C may be uninitialised.
struct Blend {
  double scale = 1;
  bool accumulate = false;
};

/// C [m, n] = A [m, k] B [k, n].
void gemm_nn(Matrix<const float> a, Matrix<const float> b, Matrix<float> c, Blend blend = {});
void gemm_nn(Matrix<const double> a, Matrix<const double> b, Matrix<double> c, Blend blend = {});

/// C [m, n] = A [m, k] B^T, B [n, k].
void gemm_nt(Matrix<const float> a, Matrix<const float> b, Matrix<float> c, Blend blend = {});
void gemm_nt(Matrix<const double> a, Matrix<const double> b, Matrix<double> c, Blend blend = {});

/// C [m, n] = A^T B, A [k, m], B [k, n].
void gemm_tn(Matrix<const float> a, Matrix<const float> b, Matrix<float> c, Blend blend = {});
void gemm_tn(Matrix<const double> a, Matrix<const double> b, Matrix<double> c, Blend blend = {});

}  // namespace refrain::engine
