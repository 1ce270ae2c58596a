// Softmax over the last dimension, in place; -inf becomes 0. Backward, in place over the gradient:
// dx = p o (dp - rowsum(p o dp)).
#include <ATen/TensorOperators.h>
#include <ATen/ops/softmax.h>

#include "engine/kernels/gradient_out.h"
#include "engine/kernels/kernel_list.h"
#include "engine/numerics/matrix.h"
#include "engine/numerics/vector_math.h"

namespace refrain::engine {
namespace {

template <class Storage>
void forward_row(Storage* row, int64_t n) {
  using T = Accumulate<Storage>;
  T maximum = load(row[0]);
#pragma omp simd reduction(max : maximum)
  for (int64_t j = 0; j < n; ++j) maximum = load(row[j]) > maximum ? load(row[j]) : maximum;
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j) sum += vector_exp(load(row[j]) - maximum);
  // The exponentials a second time: a bf16 row has no room to keep them in full precision.
  const T inverse = T(1) / sum;
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    row[j] = round_to<Storage>(vector_exp(load(row[j]) - maximum) * inverse);
  }
}

template <class Storage>
void backward_row(const Storage* p, Storage* gradient, int64_t n) {
  using T = Accumulate<Storage>;
  T dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t j = 0; j < n; ++j) dot += load(p[j]) * load(gradient[j]);
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    gradient[j] = round_to<Storage>(load(p[j]) * (load(gradient[j]) - dot));
  }
}

void forward_fused(const model::Op&, const ForwardArgs& args) {
  check_shared(args.writes[0], args.reads[0]);
  dispatch(args.writes[0].scalar_type(), [&]<class Storage>() {
    const Rows rows = rows_of(args.writes[0]);
    Storage* data = pointer<Storage>(args.writes[0]);
    parallel_rows(rows.count, row_grain(rows.columns), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) forward_row(data + i * rows.columns, rows.columns);
    });
  });
}

void backward_fused(const model::Op&, const BackwardArgs& args) {
  check_shared(args.write_gradients[0], args.read_gradients[0].tensor);
  dispatch(args.saved[0].scalar_type(), [&]<class Storage>() {
    const Rows rows = rows_of(args.saved[0]);
    const Storage* p = const_pointer<Storage>(args.saved[0]);
    Storage* gradient = pointer<Storage>(args.write_gradients[0]);
    parallel_rows(rows.count, row_grain(rows.columns), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        backward_row(p + i * rows.columns, gradient + i * rows.columns, rows.columns);
      }
    });
  });
}

void forward_plain(const model::Op&, const ForwardArgs& args) {
  const at::Tensor& x = args.reads[0];
  args.writes[0].copy_(at::softmax(x.to(accumulate_type(x.scalar_type())), -1));
}

void backward_plain(const model::Op&, const BackwardArgs& args) {
  const at::ScalarType sums = accumulate_type(args.saved[0].scalar_type());
  const at::Tensor p = args.saved[0].to(sums), gradient = args.write_gradients[0].to(sums);
  args.write_gradients[0].copy_(p * (gradient - (p * gradient).sum(-1, true)));
}

}  // namespace

Kernel softmax_kernel(KernelSet set) {
  return set == KernelSet::kFused ? Kernel{forward_fused, backward_fused}
                                  : Kernel{forward_plain, backward_plain};
}

}  // namespace refrain::engine
