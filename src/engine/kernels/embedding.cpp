// Token embedding, with learned positions where the op has them: x = W[token] + P[position].
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "engine/kernels/gradient_out.h"
#include "engine/kernels/kernel_list.h"
#include "engine/numerics/dispatch.h"
#include "engine/numerics/parallel.h"

namespace refrain::engine {
namespace {

const model::EmbeddingAttributes& attributes_of(const model::Op& op) {
  return std::get<model::EmbeddingAttributes>(op.attributes);
}

/// Row of the weight that a token reads.
int64_t checked_row(int32_t token, int64_t vocab) {
  RC_CHECK(token >= 0 && token < vocab, "token {} of {}", token, vocab);
  return token;
}

void check_positions(const model::Op& op, const at::Tensor& weight) {
  RC_CHECK(attributes_of(op).seq <= weight.size(0), "{} positions of {}", attributes_of(op).seq,
           weight.size(0));
}

void fused_forward(const model::Op& op, const ForwardArgs& args) {
  const auto [seq, has_positions] = attributes_of(op);
  if (has_positions) check_positions(op, args.params[1]);
  dispatch(args.writes[0].scalar_type(), [&, seq = seq, learned = has_positions]<class Storage>() {
    const int32_t* tokens = const_pointer<int32_t>(args.reads[0]);
    const Storage* weight = const_pointer<Storage>(args.params[0]);
    const Storage* positions = learned ? const_pointer<Storage>(args.params[1]) : nullptr;
    Storage* out = pointer<Storage>(args.writes[0]);
    const int64_t n = args.params[0].size(1), vocab = args.params[0].size(0);
    parallel_rows(args.reads[0].numel(), row_grain(n), [=](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const Storage* row = weight + checked_row(tokens[t], vocab) * n;
        Storage* y = out + t * n;
        if (positions == nullptr) {
          std::copy(row, row + n, y);
          continue;
        }
        const Storage* position = positions + t % seq * n;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) y[i] = round_to<Storage>(load(row[i]) + load(position[i]));
      }
    });
  });
}

/// Adds row t of `gradient` [T, h] to row row_of(t) of `out` [rows, h], t ascending in every column
/// whatever the number of threads: a task owns a range of columns.
template <class Storage, class RowOf>
void scatter_add(const at::Tensor& gradient, const GradientOut& out, const RowOf& row_of) {
  if (!out.tensor.defined()) return;
  using Real = Accumulate<Storage>;
  const Rows rows = rows_of(gradient);
  const int64_t n = rows.columns;
  const Storage* g = const_pointer<Storage>(gradient);
  Real* sums = pointer<Real>(out.tensor);
  if (!out.accumulate) {
    parallel_rows(out.tensor.numel(), row_grain(1), [=](int64_t begin, int64_t end) {
      std::fill(sums + begin, sums + end, Real(0));
    });
  }
  constexpr int64_t kColumns = 64;  // four cache lines of float32
  parallel_rows(n, kColumns, [&](int64_t begin, int64_t end) {
    for (int64_t t = 0; t < rows.count; ++t) {
      Real* sum = sums + row_of(t) * n;
      const Storage* row = g + t * n;
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) sum[i] += load(row[i]);
    }
  });
}

void fused_backward(const model::Op& op, const BackwardArgs& args) {
  const auto [seq, has_positions] = attributes_of(op);
  const at::Tensor& gradient = args.write_gradients[0];
  dispatch(gradient.scalar_type(), [&, seq = seq, learned = has_positions]<class Storage>() {
    const int32_t* tokens = const_pointer<int32_t>(args.saved[0]);
    const int64_t vocab = args.params[0].size(0);
    scatter_add<Storage>(gradient, args.param_gradients[0],
                         [=](int64_t t) { return checked_row(tokens[t], vocab); });
    if (!learned) return;
    check_positions(op, args.params[1]);
    scatter_add<Storage>(gradient, args.param_gradients[1], [=](int64_t t) { return t % seq; });
  });
}

/// Position of each of `num_tokens` tokens, int64.
at::Tensor plain_positions(const at::Tensor& tokens, int64_t seq) {
  return at::arange(tokens.numel(), tokens.options().dtype(at::kLong)).remainder(seq);
}

void plain_forward(const model::Op& op, const ForwardArgs& args) {
  const auto [seq, has_positions] = attributes_of(op);
  const at::Tensor tokens = args.reads[0].flatten().to(at::kLong);
  const at::ScalarType real = accumulate_type(args.writes[0].scalar_type());
  at::Tensor out = args.params[0].index_select(0, tokens).to(real);
  if (has_positions) {
    out.add_(args.params[1].index_select(0, plain_positions(tokens, seq)));
  }
  args.writes[0].copy_(out.view(args.writes[0].sizes()));
}

void plain_backward(const model::Op& op, const BackwardArgs& args) {
  const auto [seq, has_positions] = attributes_of(op);
  const at::Tensor tokens = args.saved[0].flatten().to(at::kLong);
  const auto scatter = [&](const GradientOut& out, const at::Tensor& rows) {
    if (!out.tensor.defined()) return;
    const at::Tensor gradient = args.write_gradients[0].to(out.tensor.scalar_type());
    deliver(out, at::zeros_like(out.tensor).index_add(0, rows, gradient.flatten(0, -2)));
  };
  scatter(args.param_gradients[0], tokens);
  if (has_positions) scatter(args.param_gradients[1], plain_positions(tokens, seq));
}

}  // namespace

Kernel embedding_kernel(KernelSet set) {
  return set == KernelSet::kFused ? Kernel{fused_forward, fused_backward}
                                  : Kernel{plain_forward, plain_backward};
}

}  // namespace refrain::engine
