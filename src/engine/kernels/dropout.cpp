// Inverted dropout (Srivastava et al. 2014, section 10), in place, and the residual addition that
// drops out its branch. The mask is never stored: backward makes it again from the key.
#include <ATen/TensorOperators.h>

#include "engine/kernels/gradient_out.h"
#include "engine/kernels/kernel_list.h"
#include "engine/numerics/parallel.h"
#include "engine/numerics/philox.h"

namespace refrain::engine {
namespace {

double probability_of(const model::Op& op) {
  return std::get<model::DropoutAttributes>(op.attributes).probability;
}

// Elements a task takes; a multiple of the span, so that each span is made once.
constexpr int64_t kGrain = 64 * kPhiloxSpan;

/// x = x * factors, in place.
void fused_drop(double probability, const DropoutKey& key, const at::Tensor& x) {
  if (probability == 0) return;
  const Dropout dropout(key, probability);
  dispatch(x.scalar_type(), [&]<class Storage>() {
    Storage* data = pointer<Storage>(x);
    parallel_rows(x.numel(), kGrain, [&](int64_t begin, int64_t end) {
      dropout.apply(begin, end - begin, data + begin, data + begin);
    });
  });
}

void plain_drop(double probability, const DropoutKey& key, const at::Tensor& x) {
  if (probability == 0) return;
  const auto real = at::TensorOptions(x.device()).dtype(accumulate_type(x.scalar_type()));
  x.copy_(x.to(real.dtype()) * dropout_factors(key, probability, x.sizes(), real));
}

using Drop = void (*)(double, const DropoutKey&, const at::Tensor&);

template <Drop kDrop>
void dropout_forward(const model::Op& op, const ForwardArgs& args) {
  check_shared(args.writes[0], args.reads[0]);
  kDrop(probability_of(op), args.key, args.writes[0]);
}

template <Drop kDrop>
void dropout_backward(const model::Op& op, const BackwardArgs& args) {
  check_shared(args.write_gradients[0], args.read_gradients[0].tensor);
  kDrop(probability_of(op), args.key, args.write_gradients[0]);
}

/// Elements [begin, end) of out = out + x * factors, or of out = out + x without dropout.
template <class Storage>
void add_piece(const Dropout* dropout, const Storage* a, const Storage* b, Storage* out,
               int64_t begin, int64_t end) {
  if (dropout == nullptr) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) out[i] = round_to<Storage>(load(a[i]) + load(b[i]));
    return;
  }
  dropout->for_each_span<Accumulate<Storage>>(
      begin, end - begin, [&](int64_t offset, const auto* factors, int64_t n) {
        const int64_t first = begin + offset;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
          const int64_t i = first + j;
          out[i] = round_to<Storage>(load(a[i]) + load(b[i]) * factors[j]);
        }
      });
}

/// out = a + dropout(b); `out` may be either.
void fused_sum(double probability, const DropoutKey& key, const at::Tensor& a, const at::Tensor& b,
               const at::Tensor& out) {
  const Dropout dropout(key, probability);
  const Dropout* drops = probability == 0 ? nullptr : &dropout;
  dispatch(out.scalar_type(), [&]<class Storage>() {
    const Storage* a_data = const_pointer<Storage>(a);
    const Storage* b_data = const_pointer<Storage>(b);
    Storage* out_data = pointer<Storage>(out);
    parallel_rows(out.numel(), kGrain, [&](int64_t begin, int64_t end) {
      add_piece(drops, a_data, b_data, out_data, begin, end);
    });
  });
}

void plain_sum(double probability, const DropoutKey& key, const at::Tensor& a, const at::Tensor& b,
               const at::Tensor& out) {
  const auto real = at::TensorOptions(out.device()).dtype(accumulate_type(out.scalar_type()));
  at::Tensor branch = b.to(real.dtype());
  if (probability > 0) branch = branch * dropout_factors(key, probability, b.sizes(), real);
  out.copy_(a.to(real.dtype()) + branch);
}

void fused_branch_gradient(double probability, const DropoutKey& key, const at::Tensor& gradient,
                           const GradientOut& out) {
  if (out.accumulate) return fused_sum(probability, key, out.tensor, gradient, out.tensor);
  const Dropout dropout(key, probability);
  dispatch(gradient.scalar_type(), [&]<class Storage>() {
    const Storage* from = const_pointer<Storage>(gradient);
    Storage* to = pointer<Storage>(out.tensor);
    parallel_rows(gradient.numel(), kGrain, [&](int64_t begin, int64_t end) {
      dropout.apply(begin, end - begin, from + begin, to + begin);
    });
  });
}

void plain_branch_gradient(double probability, const DropoutKey& key, const at::Tensor& gradient,
                           const GradientOut& out) {
  const auto real =
      at::TensorOptions(gradient.device()).dtype(accumulate_type(gradient.scalar_type()));
  deliver(out,
          gradient.to(real.dtype()) * dropout_factors(key, probability, gradient.sizes(), real));
}

using Sum = void (*)(double, const DropoutKey&, const at::Tensor&, const at::Tensor&,
                     const at::Tensor&);
using BranchGradient = void (*)(double, const DropoutKey&, const at::Tensor&, const GradientOut&);

template <Sum kSum>
void add_forward(const model::Op& op, const ForwardArgs& args) {
  check_shared(args.writes[0], args.reads[1]);
  kSum(probability_of(op), args.key, args.reads[0], args.reads[1], args.writes[0]);
}

/// The residual's gradient is the output's, in its storage; without dropout the branch's is too.
template <BranchGradient kBranchGradient>
void add_backward(const model::Op& op, const BackwardArgs& args) {
  const at::Tensor& gradient = args.write_gradients[0];
  const GradientOut& branch = args.read_gradients[1];
  check_shared(gradient, args.read_gradients[0].tensor);
  if (probability_of(op) == 0) {
    check_shared(gradient, branch.tensor);
  } else if (branch.tensor.defined()) {
    kBranchGradient(probability_of(op), args.key, gradient, branch);
  }
}

}  // namespace

Kernel dropout_kernel(KernelSet set) {
  return set == KernelSet::kFused
             ? Kernel{dropout_forward<fused_drop>, dropout_backward<fused_drop>}
             : Kernel{dropout_forward<plain_drop>, dropout_backward<plain_drop>};
}

Kernel add_kernel(KernelSet set) {
  return set == KernelSet::kFused
             ? Kernel{add_forward<fused_sum>, add_backward<fused_branch_gradient>}
             : Kernel{add_forward<plain_sum>, add_backward<plain_branch_gradient>};
}

}  // namespace refrain::engine
