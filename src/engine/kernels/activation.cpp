// GELU (Hendrycks and Gimpel 2016), by erf or by its tanh approximation, and SwiGLU (Shazeer 2020,
// "GLU variants improve transformer"): silu(gate) * up, gate and up the halves of each row.
//
// Every element of a gradient depends on that element's inputs alone, so GELU's backward works in
// place on the gradient and SwiGLU's may write over the saved input.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/silu.h>

#include <numbers>

#include "engine/kernels/gradient_out.h"
#include "engine/kernels/kernel_list.h"
#include "engine/numerics/dispatch.h"
#include "engine/numerics/parallel.h"
#include "engine/numerics/vector_math.h"

namespace refrain::engine {
namespace {

using config::ActivationKind;

ActivationKind kind_of(const model::Op& op) {
  return std::get<model::ActivationAttributes>(op.attributes).kind;
}

/// x Phi(x), Phi the integral of the normal distribution; its slope is Phi(x) + x Phi'(x).
struct GeluErf {
  template <class Real>
  [[gnu::always_inline]] static Real value(Real x) {
    return x * vector_normal(x).integral;
  }
  template <class Real>
  [[gnu::always_inline]] static Real slope(Real x) {
    const Normal<Real> normal = vector_normal(x);
    return normal.integral + x * normal.density;
  }
};

/// x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3), which is x sigmoid(2 u): one
/// exponential, and no cancellation.
struct GeluTanh {
  template <class Real>
  static constexpr Real kScale =  // of 2 u
      static_cast<Real>(2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
  template <class Real>
  static constexpr Real kCubic = static_cast<Real>(0.044715);

  template <class Real>
  [[gnu::always_inline]] static Real sigmoid_of(Real x) {
    return vector_sigmoid(kScale<Real> * x * (Real(1) + kCubic<Real> * x * x));
  }
  template <class Real>
  [[gnu::always_inline]] static Real value(Real x) {
    return x * sigmoid_of(x);
  }
  template <class Real>
  [[gnu::always_inline]] static Real slope(Real x) {
    const Real s = sigmoid_of(x);
    const Real inner = kScale<Real> * (Real(1) + Real(3) * kCubic<Real> * x * x);
    return s + x * s * (Real(1) - s) * inner;
  }
};

template <class Storage, class Gelu>
void gelu_forward(const at::Tensor& x_tensor, const at::Tensor& y_tensor) {
  const Storage* x = const_pointer<Storage>(x_tensor);
  Storage* y = pointer<Storage>(y_tensor);
  parallel_rows(x_tensor.numel(), row_grain(1), [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      y[i] = round_to<Storage>(Gelu::value(load(x[i])));
    }
  });
}

/// Calls f with std::true_type or std::false_type: loops vectorise where the choice is made
/// outside.
template <class F>
void with_constant(bool value, const F& f) {
  value ? f(std::true_type()) : f(std::false_type());
}

/// `out` may be the very storage of `y_gradient`.
template <class Storage, class Gelu>
void gelu_backward(const at::Tensor& x_tensor, const at::Tensor& y_gradient,
                   const GradientOut& out) {
  using Real = Accumulate<Storage>;
  const Storage* x = const_pointer<Storage>(x_tensor);
  const Storage* g = const_pointer<Storage>(y_gradient);
  Storage* dx = pointer<Storage>(out.tensor);
  with_constant(out.accumulate, [=, n = x_tensor.numel()](auto accumulate) {
    parallel_rows(n, row_grain(1), [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const Real before = accumulate ? load(dx[i]) : Real(0);
        dx[i] = round_to<Storage>(before + load(g[i]) * Gelu::slope(load(x[i])));
      }
    });
  });
}

template <class Storage>
void swiglu_forward(const at::Tensor& x_tensor, const at::Tensor& y_tensor) {
  using Real = Accumulate<Storage>;
  const Rows rows = rows_of(y_tensor);
  const int64_t f = rows.columns;
  const Storage* x_rows = const_pointer<Storage>(x_tensor);
  Storage* y_rows = pointer<Storage>(y_tensor);
  parallel_rows(rows.count, row_grain(f), [=](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Storage* gate = x_rows + row * 2 * f;
      const Storage* up = gate + f;
      Storage* y = y_rows + row * f;
#pragma omp simd
      for (int64_t i = 0; i < f; ++i) {
        const Real x = load(gate[i]);
        y[i] = round_to<Storage>(x * vector_sigmoid(x) * load(up[i]));
      }
    }
  });
}

/// One row's gradients of gate and up, which may be the storage of gate and up.
template <bool kAccumulate, class Storage>
void swiglu_backward_row(const Storage* gate, const Storage* g, Storage* gate_gradient, int64_t f) {
  using Real = Accumulate<Storage>;
  const Storage* up = gate + f;
  Storage* up_gradient = gate_gradient + f;
#pragma omp simd
  for (int64_t i = 0; i < f; ++i) {
    const Real x = load(gate[i]), u = load(up[i]), dy = load(g[i]);
    const Real s = vector_sigmoid(x);
    const Real dx = dy * u * s * (Real(1) + x * (Real(1) - s));
    const Real du = dy * x * s;
    const Real dx_before = kAccumulate ? load(gate_gradient[i]) : Real(0);
    const Real du_before = kAccumulate ? load(up_gradient[i]) : Real(0);
    gate_gradient[i] = round_to<Storage>(dx_before + dx);
    up_gradient[i] = round_to<Storage>(du_before + du);
  }
}

template <class Storage>
void swiglu_backward(const at::Tensor& x_tensor, const at::Tensor& y_gradient,
                     const GradientOut& out) {
  const Rows rows = rows_of(y_gradient);
  const int64_t f = rows.columns;
  const Storage* x_rows = const_pointer<Storage>(x_tensor);
  const Storage* g_rows = const_pointer<Storage>(y_gradient);
  Storage* dx_rows = pointer<Storage>(out.tensor);
  with_constant(out.accumulate, [=](auto accumulate) {
    parallel_rows(rows.count, row_grain(f), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        swiglu_backward_row<accumulate>(x_rows + row * 2 * f, g_rows + row * f,
                                        dx_rows + row * 2 * f, f);
      }
    });
  });
}

void fused_forward(const model::Op& op, const ForwardArgs& args) {
  const at::Tensor &x = args.reads[0], &y = args.writes[0];
  dispatch(x.scalar_type(), [&]<class Storage>() {
    switch (kind_of(op)) {
      case ActivationKind::kGeluTanh:
        return gelu_forward<Storage, GeluTanh>(x, y);
      case ActivationKind::kGeluErf:
        return gelu_forward<Storage, GeluErf>(x, y);
      case ActivationKind::kSwiglu:
        return swiglu_forward<Storage>(x, y);
    }
  });
}

void fused_backward(const model::Op& op, const BackwardArgs& args) {
  const at::Tensor &x = args.saved[0], &g = args.write_gradients[0];
  const GradientOut& out = args.read_gradients[0];
  dispatch(x.scalar_type(), [&]<class Storage>() {
    switch (kind_of(op)) {
      case ActivationKind::kGeluTanh:
        return gelu_backward<Storage, GeluTanh>(x, g, out);
      case ActivationKind::kGeluErf:
        return gelu_backward<Storage, GeluErf>(x, g, out);
      case ActivationKind::kSwiglu:
        return swiglu_backward<Storage>(x, g, out);
    }
  });
}

const char* approximation(const model::Op& op) {
  return kind_of(op) == ActivationKind::kGeluTanh ? "tanh" : "none";
}

void plain_forward(const model::Op& op, const ForwardArgs& args) {
  const at::Tensor x = args.reads[0].to(accumulate_type(args.reads[0].scalar_type()));
  if (kind_of(op) != ActivationKind::kSwiglu) {
    args.writes[0].copy_(at::gelu(x, approximation(op)));
    return;
  }
  const int64_t f = x.size(-1) / 2;
  args.writes[0].copy_(at::silu(x.narrow(-1, 0, f)) * x.narrow(-1, f, f));
}

void plain_backward(const model::Op& op, const BackwardArgs& args) {
  const at::ScalarType real = accumulate_type(args.saved[0].scalar_type());
  const at::Tensor x = args.saved[0].to(real), g = args.write_gradients[0].to(real);
  const GradientOut& out = args.read_gradients[0];
  if (kind_of(op) != ActivationKind::kSwiglu) {
    return deliver(out, at::gelu_backward(g, x, approximation(op)));
  }
  const int64_t f = x.size(-1) / 2;
  const at::Tensor gate = x.narrow(-1, 0, f), up = x.narrow(-1, f, f);
  const at::Tensor s = gate.sigmoid();
  deliver(out, at::cat({g * up * s * (gate * (1 - s) + 1), g * gate * s}, -1));
}

}  // namespace

Kernel activation_kernel(KernelSet set) {
  return set == KernelSet::kFused ? Kernel{fused_forward, fused_backward}
                                  : Kernel{plain_forward, plain_backward};
}

}  // namespace refrain::engine
