#include "engine/kernels/adamw.h"

#include <ATen/TensorOperators.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "engine/numerics/matrix.h"

namespace refrain::engine {
namespace {

// Elements a task takes: 256 KiB of each float32 array.
constexpr int64_t kPiece = 65536;

/// The step's constants, bias correction folded in:
///   w = keep w - step m / (sqrt(v) inverse_root + eps).
template <class T>
struct Constants {
  T gradient_factor, beta1, beta2, keep, step, inverse_root, eps;

  Constants(const AdamW& o, bool decay)
      : gradient_factor(static_cast<T>(o.gradient_factor)),
        beta1(static_cast<T>(o.beta1)),
        beta2(static_cast<T>(o.beta2)),
        keep(static_cast<T>(decay ? 1 - o.lr * o.weight_decay : 1.0)),
        step(static_cast<T>(o.lr / (1 - std::pow(o.beta1, static_cast<double>(o.step))))),
        inverse_root(
            static_cast<T>(1 / std::sqrt(1 - std::pow(o.beta2, static_cast<double>(o.step))))),
        eps(static_cast<T>(o.eps)) {}
};

template <class T>
struct Arrays {
  T* weight;
  const T* gradient;
  T *m, *v;
  at::BFloat16* copy;  // null: none
};

template <class T>
void update(const Constants<T>& c, const Arrays<T>& arrays, int64_t begin, int64_t end) {
  // Locals, not members: the compiler must see that no store can move them.
  T *weight = arrays.weight, *m = arrays.m, *v = arrays.v;
  const T* gradient = arrays.gradient;
  at::BFloat16* copy = arrays.copy;
  const Constants<T> k = c;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const T g = gradient[i] * k.gradient_factor;
    m[i] = k.beta1 * m[i] + (T(1) - k.beta1) * g;
    v[i] = k.beta2 * v[i] + (T(1) - k.beta2) * g * g;
    weight[i] = k.keep * weight[i] - k.step * m[i] / (std::sqrt(v[i]) * k.inverse_root + k.eps);
  }
  if (copy == nullptr) return;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i)
    copy[i] = round_to<at::BFloat16>(static_cast<float>(weight[i]));
}

template <class Storage>
double sum_of_squares(const Storage* values, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    const double value = load(values[i]);
    sum += value * value;
  }
  return sum;
}

void adamw_plain(const AdamW& o, bool decay, const at::Tensor& weight, const at::Tensor& gradient,
                 const at::Tensor& m, const at::Tensor& v) {
  const at::Tensor g = gradient * o.gradient_factor;
  m.mul_(o.beta1).add_(g, 1 - o.beta1);
  v.mul_(o.beta2).addcmul_(g, g, 1 - o.beta2);
  const double step = static_cast<double>(o.step);
  const at::Tensor m_hat = m / (1 - std::pow(o.beta1, step));
  const at::Tensor v_hat = v / (1 - std::pow(o.beta2, step));
  if (decay) weight.mul_(1 - o.lr * o.weight_decay);
  weight.addcdiv_(m_hat, v_hat.sqrt().add_(o.eps), -o.lr);
}

}  // namespace

void adamw(const AdamW& options, bool decay, const at::Tensor& weight, const at::Tensor& gradient,
           const at::Tensor& m, const at::Tensor& v, const at::Tensor& bf16_copy, KernelSet set) {
  RC_CHECK(weight.sizes() == gradient.sizes() && weight.sizes() == m.sizes() &&
           weight.sizes() == v.sizes());
  if (set == KernelSet::kPlain) {
    adamw_plain(options, decay, weight, gradient, m, v);
    if (bf16_copy.defined()) bf16_copy.copy_(weight);
    return;
  }
  dispatch(weight.scalar_type(), [&]<class T>() {
    if constexpr (std::is_same_v<T, Accumulate<T>>) {
      const Arrays<T> arrays = {pointer<T>(weight), const_pointer<T>(gradient), pointer<T>(m),
                                pointer<T>(v),
                                bf16_copy.defined() ? pointer<at::BFloat16>(bf16_copy) : nullptr};
      const Constants<T> constants(options, decay);
      parallel_rows(weight.numel(), kPiece,
                    [&](int64_t begin, int64_t end) { update(constants, arrays, begin, end); });
    } else {
      RC_CHECK(false, "a {} master weight", c10::toString(weight.scalar_type()));
    }
  });
}

double sum_of_squares(const at::Tensor& gradient) {
  const int64_t count = gradient.numel();
  std::vector<double> sums((count + kPiece - 1) / kPiece);
  dispatch(gradient.scalar_type(), [&]<class Storage>() {
    const Storage* values = const_pointer<Storage>(gradient);
    parallel_rows(count, kPiece, [&](int64_t begin, int64_t end) {
      sums[begin / kPiece] = sum_of_squares(values + begin, end - begin);
    });
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace refrain::engine
