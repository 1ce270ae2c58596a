// y = x W^T + b. Shapes: x [T, in], y [T, out] (either may come as [T, heads, d]), W [out, in].
//
// Backward comes in two parts: the weight gradients, which alone need x, then the input gradient.
// bf16 runs in float32, model::kConvertRows tokens at a time, the weight converted once.
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "engine/kernels/gradient_out.h"
#include "engine/kernels/kernel_list.h"
#include "engine/numerics/gemm.h"
#include "engine/numerics/scratch_carver.h"

namespace refrain::engine {
namespace {

using model::LinearAttributes;

/// Buffers of the accumulate type, for bf16 alone; the same pieces in every part of backward.
template <class Storage>
struct Buffers {
  Accumulate<Storage>*weight = nullptr, *x = nullptr, *y = nullptr;

  Buffers(const LinearAttributes& linear, int64_t tokens, ScratchBlock block) {
    ScratchCarver carver(block);
    if constexpr (kConverts<Storage>) {
      const int64_t rows = std::min(tokens, model::kConvertRows);
      weight = carver.take<Accumulate<Storage>>(linear.out * linear.in);
      x = carver.take<Accumulate<Storage>>(rows * linear.in);
      y = carver.take<Accumulate<Storage>>(rows * linear.out);
    }
    carver.check_all_taken();
  }
};

/// A [T, columns] view of a contiguous tensor.
template <class Storage>
Matrix<const Storage> tokens_of(const at::Tensor& tensor, int64_t columns) {
  return dense(const_pointer<Storage>(tensor), tensor.numel() / columns, columns);
}
template <class Storage>
Matrix<Storage> mutable_tokens_of(const at::Tensor& tensor, int64_t columns) {
  return dense(pointer<Storage>(tensor), tensor.numel() / columns, columns);
}

/// Calls f(begin, count) on the pieces of tokens that one GEMM takes.
template <class Storage, class F>
void for_each_chunk(int64_t tokens, const F& f) {
  const int64_t step = kConverts<Storage> ? model::kConvertRows : std::max<int64_t>(tokens, 1);
  for (int64_t begin = 0; begin < tokens; begin += step) f(begin, std::min(step, tokens - begin));
}

template <class Storage>
void fill_with_bias(const Storage* bias, Matrix<Accumulate<Storage>> y) {
  parallel_rows(y.rows, row_grain(y.columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Accumulate<Storage>* out = y.row(i);
#pragma omp simd
      for (int64_t j = 0; j < y.columns; ++j) out[j] = load(bias[j]);
    }
  });
}

template <class Storage>
void forward_of(const LinearAttributes& linear, const ForwardArgs& args) {
  const auto x = tokens_of<Storage>(args.reads[0], linear.in);
  const auto y = mutable_tokens_of<Storage>(args.writes[0], linear.out);
  const Buffers<Storage> buffers(linear, x.rows, args.scratch);
  const auto weight = widen_parallel(tokens_of<Storage>(args.params[0], linear.in), buffers.weight);
  for_each_chunk<Storage>(x.rows, [&](int64_t begin, int64_t count) {
    const auto to = y.row_block(begin, count);
    const auto stage = staged(to, buffers.y);
    if (linear.bias) fill_with_bias(const_pointer<Storage>(args.params[1]), stage);
    gemm_nt(widen_parallel(x.row_block(begin, count), buffers.x), weight, stage,
            {.accumulate = linear.bias});
    narrow_parallel(stage, to, false);
  });
}

/// Sums columns [begin, begin + count) of y: kReduceRows rows at a time, then the sums in order.
constexpr int64_t kStripColumns = 128;  // of float32 512 B: whole cache lines, sums in registers
template <class Storage>
void sum_strip(Matrix<const Storage> y, int64_t begin, int64_t count, Accumulate<Storage>* sums) {
  Accumulate<Storage> partial[kStripColumns];
  for (int64_t row = 0; row < y.rows; row += model::kReduceRows) {
    std::fill_n(partial, count, Accumulate<Storage>(0));
    const int64_t end = std::min(y.rows, row + model::kReduceRows);
    for (int64_t i = row; i < end; ++i) {
      const Storage* in = y.row(i) + begin;
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) partial[j] += load(in[j]);
    }
    for (int64_t j = 0; j < count; ++j) sums[j] += partial[j];
  }
}

template <class Storage>
void bias_gradient(Matrix<const Storage> y_gradient, const GradientOut& out) {
  auto* gradient = pointer<Accumulate<Storage>>(out.tensor);
  parallel_rows(y_gradient.columns, kStripColumns, [&](int64_t begin, int64_t end) {
    Accumulate<Storage> sums[kStripColumns] = {};
    sum_strip(y_gradient, begin, end - begin, sums);
    for (int64_t j = begin; j < end; ++j) {
      gradient[j] = (out.accumulate ? gradient[j] : Accumulate<Storage>(0)) + sums[j - begin];
    }
  });
}

template <class Storage>
void weight_gradients(const LinearAttributes& linear, const BackwardArgs& args,
                      const Buffers<Storage>& buffers) {
  const auto x = tokens_of<Storage>(args.saved[0], linear.in);
  const auto y_gradient = tokens_of<Storage>(args.write_gradients[0], linear.out);
  if (const GradientOut& out = args.param_gradients[0]; out.tensor.defined()) {
    const auto gradient = mutable_tokens_of<Accumulate<Storage>>(out.tensor, linear.in);
    for_each_chunk<Storage>(x.rows, [&](int64_t begin, int64_t count) {
      gemm_tn(widen_parallel(y_gradient.row_block(begin, count), buffers.y),
              widen_parallel(x.row_block(begin, count), buffers.x), gradient,
              {.accumulate = out.accumulate || begin > 0});
    });
  }
  if (linear.bias && args.param_gradients[1].tensor.defined()) {
    bias_gradient(y_gradient, args.param_gradients[1]);
  }
}

template <class Storage>
void input_gradient(const LinearAttributes& linear, const BackwardArgs& args,
                    const Buffers<Storage>& buffers) {
  const GradientOut& out = args.read_gradients[0];
  if (!out.tensor.defined()) return;
  const auto y_gradient = tokens_of<Storage>(args.write_gradients[0], linear.out);
  const auto x_gradient = mutable_tokens_of<Storage>(out.tensor, linear.in);
  const auto weight = widen_parallel(tokens_of<Storage>(args.params[0], linear.in), buffers.weight);
  for_each_chunk<Storage>(x_gradient.rows, [&](int64_t begin, int64_t count) {
    const auto to = x_gradient.row_block(begin, count);
    const auto stage = staged(to, buffers.x);
    gemm_nn(widen_parallel(y_gradient.row_block(begin, count), buffers.y), weight, stage,
            {.accumulate = !kConverts<Storage> && out.accumulate});
    narrow_parallel(stage, to, out.accumulate);
  });
}

void forward_fused(const model::Op& op, const ForwardArgs& args) {
  dispatch(args.reads[0].scalar_type(), [&]<class Storage>() {
    forward_of<Storage>(std::get<LinearAttributes>(op.attributes), args);
  });
}

void backward_fused(const model::Op& op, const BackwardArgs& args) {
  const auto& linear = std::get<LinearAttributes>(op.attributes);
  dispatch(args.write_gradients[0].scalar_type(), [&]<class Storage>() {
    const int64_t tokens = args.write_gradients[0].numel() / linear.out;
    const Buffers<Storage> buffers(linear, tokens, args.scratch);
    // The weights first: in kWhole the input gradient may take over the storage of x.
    if (args.part != BackwardPart::kInputs) weight_gradients(linear, args, buffers);
    if (args.part != BackwardPart::kWeights) input_gradient(linear, args, buffers);
  });
}

void forward_plain(const model::Op& op, const ForwardArgs& args) {
  const auto& linear = std::get<LinearAttributes>(op.attributes);
  const at::Tensor x = args.reads[0].reshape({-1, linear.in});
  const at::Tensor w = args.params[0].t();
  const at::Tensor y = linear.bias ? at::addmm(args.params[1], x, w) : at::mm(x, w);
  args.writes[0].copy_(y.view_as(args.writes[0]));
}

void backward_plain(const model::Op& op, const BackwardArgs& args) {
  const auto& linear = std::get<LinearAttributes>(op.attributes);
  const at::ScalarType sums = accumulate_type(args.write_gradients[0].scalar_type());
  const at::Tensor y_gradient = args.write_gradients[0].reshape({-1, linear.out}).to(sums);
  if (args.part != BackwardPart::kInputs) {
    const at::Tensor x = args.saved[0].reshape({-1, linear.in}).to(sums);
    deliver(args.param_gradients[0], at::mm(y_gradient.t(), x));
    if (linear.bias) deliver(args.param_gradients[1], y_gradient.sum(0));
  }
  if (args.part != BackwardPart::kWeights) {
    deliver(args.read_gradients[0], at::mm(y_gradient, args.params[0].to(sums)));
  }
}

}  // namespace

Kernel linear_kernel(KernelSet set) {
  return set == KernelSet::kFused ? Kernel{forward_fused, backward_fused}
                                  : Kernel{forward_plain, backward_plain};
}

}  // namespace refrain::engine
