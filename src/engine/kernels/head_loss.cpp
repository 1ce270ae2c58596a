// The head: logits = x W^T, cross-entropy and, in training, both gradients, a chunk of tokens at a
// time, so that logits never exist for all tokens. With p = softmax(logits):
//   loss += lse - logits[target], dlogits = (p - onehot(target)) scale,
//   dW += dlogits^T x, dx = dlogits W.
// dlogits takes the place of the logits. dx may take the place of x: a chunk's dW comes first.
// bf16 runs in float32: the chunk is copied as a whole, the weight kConvertVocab rows at a time.
#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cmath>

#include "engine/kernels/gradient_out.h"
#include "engine/kernels/kernel.h"
#include "engine/numerics/gemm.h"
#include "engine/numerics/scratch_carver.h"
#include "engine/numerics/vector_math.h"

namespace refrain::engine {
namespace {

int64_t chunk_tokens_of(const model::Op& op) {
  return std::get<model::HeadLossAttributes>(op.attributes).chunk_tokens;
}

/// Calls f(begin, count) on consecutive pieces of [0, size).
template <class F>
void for_each_piece(int64_t size, int64_t piece, const F& f) {
  for (int64_t begin = 0; begin < size; begin += piece) f(begin, std::min(piece, size - begin));
}

void check_targets(const HeadLossArgs& args) {
  RC_CHECK(args.targets.numel() == args.x.size(0) && args.x.size(1) == args.weight.size(1),
           "{} targets, {} tokens of {}, weight of {}", args.targets.numel(), args.x.size(0),
           args.x.size(1), args.weight.size(1));
  const at::Tensor on_host = args.targets.cpu();  // itself on the CPU
  const int32_t* targets = const_pointer<int32_t>(on_host);
  for (int64_t i = 0; i < args.targets.numel(); ++i) {
    RC_CHECK(targets[i] >= 0 && targets[i] < args.weight.size(0), "target {} of token {}, {} words",
             targets[i], i, args.weight.size(0));
  }
}

/// Cross-entropy of one row. Training leaves (softmax(row) - onehot) scale in it.
template <class T>
double cross_entropy(T* row, int64_t vocab, int32_t target, bool training, T scale) {
  T maximum = row[0];
#pragma omp simd reduction(max : maximum)
  for (int64_t j = 0; j < vocab; ++j) maximum = row[j] > maximum ? row[j] : maximum;
  const double of_target = row[target];
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < vocab; ++j) {
    const T e = vector_exp(row[j] - maximum);
    row[j] = e;
    sum += e;
  }
  if (training) {
    const T factor = scale / sum;
#pragma omp simd
    for (int64_t j = 0; j < vocab; ++j) row[j] *= factor;
    row[target] -= scale;
  }
  return std::log(static_cast<double>(sum)) + static_cast<double>(maximum) - of_target;
}

template <class Storage>
class HeadLoss {
 public:
  using T = Accumulate<Storage>;

  HeadLoss(const model::Op& op, const HeadLossArgs& args)
      : args_(args),
        x_(dense(const_pointer<Storage>(args.x), args.x.size(0), args.x.size(1))),
        weight_(dense(const_pointer<Storage>(args.weight), args.weight.size(0), x_.columns)),
        targets_(const_pointer<int32_t>(args.targets)),
        chunk_tokens_(chunk_tokens_of(op)) {
    ScratchCarver carver(args.scratch);
    logits_ = carver.take<T>(chunk_tokens_ * weight_.rows);
    losses_ = carver.take<double>(chunk_tokens_);
    if constexpr (kConverts<Storage>) {
      x_copy_ = carver.take<T>(chunk_tokens_ * x_.columns);
      weight_copy_ = carver.take<T>(weight_piece() * x_.columns);
    }
    carver.check_all_taken();
  }

  double run() const {
    double sum = 0;
    for_each_piece(x_.rows, chunk_tokens_, [&](int64_t begin, int64_t count) {
      const auto x = widen_parallel(x_.row_block(begin, count), x_copy_);
      const auto logits = dense(logits_, count, weight_.rows);
      for_each_weight([&](int64_t first, Matrix<const T> weight) {
        gemm_nt(x, weight, logits.column_block(first, weight.rows));
      });
      sum += losses_of(logits, targets_ + begin);
      if (training()) gradients(x, logits.as_const(), begin);
    });
    return sum;
  }

 private:
  bool training() const { return args_.x_gradient.defined(); }
  int64_t weight_piece() const {
    return kConverts<Storage> ? std::min(weight_.rows, model::kConvertVocab) : weight_.rows;
  }

  /// Calls f(first row, rows) on pieces of the weight in the accumulate type.
  template <class F>
  void for_each_weight(const F& f) const {
    for_each_piece(weight_.rows, weight_piece(), [&](int64_t first, int64_t count) {
      f(first, widen_parallel(weight_.row_block(first, count), weight_copy_));
    });
  }

  /// The sum over a chunk; its logits become their gradient.
  double losses_of(Matrix<T> logits, const int32_t* targets) const {
    const T scale = static_cast<T>(args_.gradient_scale);
    parallel_for(logits.rows, [&](int64_t i, int64_t) {
      losses_[i] = cross_entropy(logits.row(i), logits.columns, targets[i], training(), scale);
    });
    double sum = 0;
    for (int64_t i = 0; i < logits.rows; ++i) sum += losses_[i];
    return sum;
  }

  void gradients(Matrix<const T> x, Matrix<const T> logits_gradient, int64_t begin) const {
    if (const GradientOut& out = args_.weight_gradient; out.tensor.defined()) {
      gemm_tn(logits_gradient, x, dense(pointer<T>(out.tensor), weight_.rows, weight_.columns),
              {.accumulate = out.accumulate || begin > 0});
    }
    const auto to = dense(pointer<Storage>(args_.x_gradient), x_.rows, x_.columns)
                        .row_block(begin, logits_gradient.rows);
    const auto stage = staged(to, x_copy_);  // the copy of x has been read for the last time
    for_each_weight([&](int64_t first, Matrix<const T> weight) {
      gemm_nn(logits_gradient.column_block(first, weight.rows), weight, stage,
              {.accumulate = first > 0});
    });
    narrow_parallel(stage, to, false);
  }

  const HeadLossArgs& args_;
  Matrix<const Storage> x_, weight_;
  const int32_t* targets_;
  int64_t chunk_tokens_;
  T* logits_;
  double* losses_;
  T *x_copy_ = nullptr, *weight_copy_ = nullptr;  // bf16 alone
};

double head_loss_plain(const model::Op& op, const HeadLossArgs& args) {
  const at::ScalarType sums = accumulate_type(args.x.scalar_type());
  const at::Tensor weight = args.weight.to(sums);
  GradientOut weight_gradient = args.weight_gradient;
  double loss = 0;
  for_each_piece(args.x.size(0), chunk_tokens_of(op), [&](int64_t begin, int64_t count) {
    const at::Tensor x = args.x.narrow(0, begin, count).to(sums);
    const at::Tensor targets = args.targets.narrow(0, begin, count).to(at::kLong).unsqueeze(1);
    const at::Tensor log_p = at::log_softmax(at::mm(x, weight.t()), -1);
    loss -= log_p.gather(1, targets).sum(at::kDouble).item().toDouble();
    if (!args.x_gradient.defined()) return;
    const at::Tensor logits_gradient =
        log_p.exp().scatter_add_(1, targets, at::full_like(targets, -1, log_p.options())) *
        args.gradient_scale;
    deliver(weight_gradient, at::mm(logits_gradient.t(), x));
    weight_gradient.accumulate = true;
    args.x_gradient.narrow(0, begin, count).copy_(at::mm(logits_gradient, weight));
  });
  return loss;
}

}  // namespace

double head_loss(const model::Op& op, const HeadLossArgs& args, KernelSet set) {
  check_targets(args);
  if (set == KernelSet::kPlain) return head_loss_plain(op, args);
  double loss = 0;
  dispatch(args.x.scalar_type(),
           [&]<class Storage>() { loss = HeadLoss<Storage>(op, args).run(); });
  return loss;
}

}  // namespace refrain::engine
