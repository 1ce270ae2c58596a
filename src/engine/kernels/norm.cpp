// RMSNorm (Zhang and Sennrich 2019, equation 4) and LayerNorm (Ba, Kiros and Hinton 2016, equation
// 3) over the last dimension, with a weight, LayerNorm also with a bias.
//
// y = (x - mean) rstd w + b; RMSNorm is the same with mean 0. Statistics: rstd [rows], or mean and
// rstd [2, rows]. Backward, with g' = g w and x' = (x - mean) rstd, averages over the row:
//   dx = rstd (g' - avg(g') - x' avg(g' x')), RMSNorm without avg(g'); dw = sum g x', db = sum g,
// summed over each kReduceRows rows first and then over these, so that no order depends on threads.
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

#include "engine/kernels/gradient_out.h"
#include "engine/kernels/kernel_list.h"
#include "engine/numerics/dispatch.h"
#include "engine/numerics/parallel.h"
#include "engine/numerics/scratch_carver.h"

namespace refrain::engine {
namespace {

const model::NormAttributes& attributes_of(const model::Op& op) {
  return std::get<model::NormAttributes>(op.attributes);
}

bool is_centred(const model::Op& op) {
  return attributes_of(op).kind == config::NormKind::kLayerNorm;
}

/// mean (null for RMSNorm) and rstd, each [rows].
template <class Real>
struct Statistics {
  Real *mean, *rstd;

  Statistics(bool centred, int64_t rows, Real* stored)
      : mean(centred ? stored : nullptr), rstd(centred ? stored + rows : stored) {}
};

template <class Storage, bool kCentred>
void forward_rows(const model::Op& op, const ForwardArgs& args) {
  using Real = Accumulate<Storage>;
  const Rows rows = rows_of(args.reads[0]);
  const int64_t n = rows.columns;
  const Storage* x_rows = const_pointer<Storage>(args.reads[0]);
  const Storage* weight = const_pointer<Storage>(args.params[0]);
  const Storage* bias = kCentred ? const_pointer<Storage>(args.params[1]) : nullptr;
  Storage* y_rows = pointer<Storage>(args.writes[0]);
  const Statistics<Real> statistics(kCentred, rows.count, pointer<Real>(args.writes[1]));
  const Real eps = static_cast<Real>(attributes_of(op).eps);
  const Real scale = Real(1) / static_cast<Real>(n);

  const auto forward_row = [=](int64_t row) {
    const Storage* x = x_rows + row * n;
    Storage* y = y_rows + row * n;
    Real mean = 0;
    if constexpr (kCentred) {
#pragma omp simd reduction(+ : mean)
      for (int64_t i = 0; i < n; ++i) mean += load(x[i]);
      mean *= scale;
      statistics.mean[row] = mean;
    }
    Real squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < n; ++i) squares += (load(x[i]) - mean) * (load(x[i]) - mean);
    const Real rstd = Real(1) / std::sqrt(squares * scale + eps);
    statistics.rstd[row] = rstd;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      Real value = (load(x[i]) - mean) * rstd * load(weight[i]);
      if constexpr (kCentred) value += load(bias[i]);
      y[i] = round_to<Storage>(value);
    }
  };
  parallel_rows(rows.count, row_grain(n), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) forward_row(row);
  });
}

/// Backward of kReduceRows rows: their x gradients and their share of the parameters' gradients.
template <class Storage, bool kCentred>
struct BackwardRows {
  using Real = Accumulate<Storage>;
  int64_t columns;
  const Storage *x, *y_gradient, *weight;
  Statistics<const Real> statistics;
  Storage* x_gradient;  // null: not wanted
  bool accumulate;

  /// Adds the row's share to weight_sum and bias_sum (LayerNorm), each [columns].
  void run(int64_t row, Real* weight_sum, Real* bias_sum) const {
    const int64_t n = columns;
    const Storage* xr = x + row * n;
    const Storage* g = y_gradient + row * n;
    const Storage* w = weight;
    const Real mean = kCentred ? statistics.mean[row] : Real(0);
    const Real rstd = statistics.rstd[row];
    Real projection = 0, offset = 0;
#pragma omp simd reduction(+ : projection, offset)
    for (int64_t i = 0; i < n; ++i) {
      const Real normed = (load(xr[i]) - mean) * rstd;
      const Real gradient = load(g[i]);
      projection += gradient * load(w[i]) * normed;
      weight_sum[i] += gradient * normed;
      if constexpr (kCentred) {
        offset += gradient * load(w[i]);
        bias_sum[i] += gradient;
      }
    }
    if (x_gradient == nullptr) return;
    const Real scale = Real(1) / static_cast<Real>(n);
    write_x_gradient(row, mean, rstd, projection * scale, offset * scale);
  }

  void write_x_gradient(int64_t row, Real mean, Real rstd, Real projection, Real offset) const {
    const int64_t n = columns;
    const Storage* xr = x + row * n;
    const Storage* g = y_gradient + row * n;
    const Storage* w = weight;
    Storage* dx = x_gradient + row * n;
    const auto value = [=](int64_t i) {
      const Real normed = (load(xr[i]) - mean) * rstd;
      return rstd * (load(g[i]) * load(w[i]) - offset - normed * projection);
    };
    if (accumulate) {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) dx[i] = round_to<Storage>(load(dx[i]) + value(i));
    } else {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) dx[i] = round_to<Storage>(value(i));
    }
  }
};

/// gradient[c] (+)= sum over chunks of sums[chunk][c], in the order of the chunks.
template <class Real>
void add_chunks(const Real* sums, int64_t num_chunks, int64_t columns, const GradientOut& out) {
  if (!out.tensor.defined()) return;
  Real* gradient = pointer<Real>(out.tensor);
  constexpr int64_t kColumns = 512;
  parallel_rows(columns, kColumns, [&](int64_t begin, int64_t end) {
    if (!out.accumulate) std::fill(gradient + begin, gradient + end, Real(0));
    for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
      const Real* sum = sums + chunk * columns;
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) gradient[c] += sum[c];
    }
  });
}

template <class Storage, bool kCentred>
void backward_rows(const BackwardArgs& args) {
  using Real = Accumulate<Storage>;
  const Rows rows = rows_of(args.saved[0]);
  const int64_t n = rows.columns;
  const int64_t num_chunks = (rows.count + model::kReduceRows - 1) / model::kReduceRows;
  const GradientOut& x_gradient = args.read_gradients[0];
  const BackwardRows<Storage, kCentred> backward{
      .columns = n,
      .x = const_pointer<Storage>(args.saved[0]),
      .y_gradient = const_pointer<Storage>(args.write_gradients[0]),
      .weight = const_pointer<Storage>(args.params[0]),
      .statistics = {kCentred, rows.count, const_pointer<Real>(args.saved[1])},
      .x_gradient = x_gradient.tensor.defined() ? pointer<Storage>(x_gradient.tensor) : nullptr,
      .accumulate = x_gradient.accumulate};
  ScratchCarver scratch(args.scratch);
  Real* weight_sums = scratch.take<Real>(num_chunks * n);
  Real* bias_sums = kCentred ? scratch.take<Real>(num_chunks * n) : weight_sums;
  scratch.check_all_taken();

  parallel_for(num_chunks, [&](int64_t chunk, int64_t) {
    Real* weight_sum = weight_sums + chunk * n;
    Real* bias_sum = bias_sums + chunk * n;
    std::fill(weight_sum, weight_sum + n, Real(0));
    if constexpr (kCentred) std::fill(bias_sum, bias_sum + n, Real(0));
    const int64_t end = std::min(rows.count, (chunk + 1) * model::kReduceRows);
    for (int64_t row = chunk * model::kReduceRows; row < end; ++row) {
      backward.run(row, weight_sum, bias_sum);
    }
  });
  add_chunks(weight_sums, num_chunks, n, args.param_gradients[0]);
  if constexpr (kCentred) add_chunks(bias_sums, num_chunks, n, args.param_gradients[1]);
}

void fused_forward(const model::Op& op, const ForwardArgs& args) {
  dispatch(args.reads[0].scalar_type(), [&]<class Storage>() {
    is_centred(op) ? forward_rows<Storage, true>(op, args) : forward_rows<Storage, false>(op, args);
  });
}

void fused_backward(const model::Op& op, const BackwardArgs& args) {
  dispatch(args.saved[0].scalar_type(), [&]<class Storage>() {
    is_centred(op) ? backward_rows<Storage, true>(args) : backward_rows<Storage, false>(args);
  });
}

void plain_forward(const model::Op& op, const ForwardArgs& args) {
  const at::ScalarType real = accumulate_type(args.reads[0].scalar_type());
  const at::Tensor x = args.reads[0].to(real);
  const at::Tensor mean =
      is_centred(op) ? x.mean(-1, true) : at::zeros_like(x.select(-1, 0)).unsqueeze(-1);
  const at::Tensor centred = x - mean;
  const at::Tensor rstd = (centred.square().mean(-1, true) + attributes_of(op).eps).rsqrt();
  at::Tensor y = centred * rstd * args.params[0].to(real);
  if (is_centred(op)) {
    y = y + args.params[1].to(real);
    args.writes[1].select(0, 0).copy_(mean.flatten());
    args.writes[1].select(0, 1).copy_(rstd.flatten());
  } else {
    args.writes[1].copy_(rstd.flatten());
  }
  args.writes[0].copy_(y);
}

void plain_backward(const model::Op& op, const BackwardArgs& args) {
  const at::ScalarType real = accumulate_type(args.saved[0].scalar_type());
  const int64_t columns = args.saved[0].size(-1);
  const at::Tensor x = args.saved[0].to(real).reshape({-1, columns});
  const at::Tensor gradient = args.write_gradients[0].to(real).reshape({-1, columns});
  const at::Tensor statistics = args.saved[1].reshape({-1, x.size(0), 1});
  const at::Tensor rstd = statistics.select(0, is_centred(op) ? 1 : 0);
  const at::Tensor normed = (is_centred(op) ? x - statistics.select(0, 0) : x) * rstd;
  const at::Tensor weighted = gradient * args.params[0].to(real);
  at::Tensor inner = weighted - normed * (weighted * normed).mean(-1, true);
  if (is_centred(op)) {
    inner = inner - weighted.mean(-1, true);
    deliver(args.param_gradients[1], gradient.sum(0));
  }
  deliver(args.param_gradients[0], (gradient * normed).sum(0));
  deliver(args.read_gradients[0], inner * rstd);
}

}  // namespace

Kernel norm_kernel(KernelSet set) {
  return set == KernelSet::kFused ? Kernel{fused_forward, fused_backward}
                                  : Kernel{plain_forward, plain_backward};
}

}  // namespace refrain::engine
