// Fused causal attention, forward: scores exist for one block of query rows a worker, never as a
// whole. Per block and the keys that its last row sees, with c = 1 / sqrt(d):
//   S = c Q K^T, P = softmax(S), O = dropout(P) V; the log-sum-exp of each row is kept.
// The plain twin of forward and backward stands here as well.
#include "engine/kernels/attention.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <limits>
#include <vector>

#include "engine/kernels/kernel_list.h"
#include "engine/numerics/gemm.h"
#include "engine/numerics/scratch_carver.h"
#include "engine/numerics/vector_math.h"

namespace refrain::engine {
namespace {

template <class T>
struct RowSum {
  T maximum, sum;
};

/// row[0, n) = exp(row - its maximum), then zeros up to `columns`.
template <class T>
RowSum<T> exponentiate(T* row, int64_t n, int64_t columns) {
  T maximum = row[0];
#pragma omp simd reduction(max : maximum)
  for (int64_t j = 0; j < n; ++j) maximum = row[j] > maximum ? row[j] : maximum;
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < n; ++j) {
    const T e = vector_exp(row[j] - maximum);
    row[j] = e;
    sum += e;
  }
  std::fill(row + n, row + columns, T(0));
  return {maximum, sum};
}

/// A worker's buffers; all but the scores are for bf16 alone. model/scratch.cpp sums them up.
template <class T>
struct Buffers {
  T* scores;
  T *q = nullptr, *out = nullptr, *k = nullptr, *v = nullptr;

  Buffers(const AttentionAttributes& attention, bool converts, ScratchCarver& carver)
      : scores(carver.take<T>(model::kAttentionRows * attention.seq)) {
    if (!converts) return;
    for (T** rows : {&q, &out}) {
      *rows = carver.take<T>(model::kAttentionRows * attention.head_dim);
    }
    for (T** head : {&k, &v}) *head = carver.take<T>(attention.seq * attention.head_dim);
  }
};

template <class Storage>
class Forward {
 public:
  using T = Accumulate<Storage>;

  Forward(const AttentionAttributes& a, const ForwardArgs& args)
      : attention_(a),
        q_(heads_of<const Storage>(a, args.reads[0], 0)),
        k_(heads_of<const Storage>(a, args.reads[k_read(a)], first_k_head(a))),
        v_(heads_of<const Storage>(a, args.reads[v_read(a)], first_v_head(a))),
        out_(heads_of<Storage>(a, args.writes[0], 0)),
        lse_(pointer<T>(args.writes[1])),
        dropout_(dropout_of(a, args.key)) {
    ScratchCarver carver(args.scratch);
    for (int worker = 0; worker < at::get_num_threads(); ++worker) {
      buffers_.emplace_back(a, kConverts<Storage>, carver);
    }
    carver.check_all_taken();
  }

  void run() const {
    const int64_t blocks = num_query_blocks(attention_), heads = attention_.num_heads;
    parallel_for(attention_.batch * heads * blocks, [&](int64_t task, int64_t worker) {
      const int64_t head = task / blocks;
      run_block(query_block(attention_, head / heads, head % heads, task % blocks),
                buffers_[worker]);
    });
  }

 private:
  void run_block(const QueryBlock& block, const Buffers<T>& buffers) const {
    const auto scores = dense(buffers.scores, block.rows, block.keys);
    T inverse_sums[model::kAttentionRows];
    gemm_nt(widen(rows_of_block(q_, block), buffers.q), widen(rows_seen(k_, block), buffers.k),
            scores, {.scale = attention_scale(attention_)});
    for (int64_t i = 0; i < block.rows; ++i) {
      inverse_sums[i] = softmax_row(block, i, scores.row(i));
    }
    const auto to = rows_of_block(out_, block);
    const auto out = staged(to, buffers.out);
    gemm_nn(scores.as_const(), widen(rows_seen(v_, block), buffers.v), out);
    for (int64_t i = 0; i < block.rows; ++i) {
      T* row = out.row(i);
      const T inverse_sum = inverse_sums[i];
#pragma omp simd
      for (int64_t j = 0; j < out.columns; ++j) row[j] *= inverse_sum;
    }
    if constexpr (kConverts<Storage>) narrow(out.as_const(), to, false);
  }

  /// Leaves dropout(P) but for the division by the row's sum, whose inverse it returns.
  T softmax_row(const QueryBlock& block, int64_t i, T* row) const {
    const int64_t n = block.begin + i + 1, index = score_row(attention_, block, i);
    const RowSum<T> exponentials = exponentiate(row, n, block.keys);
    lse_[index] = exponentials.maximum + std::log(exponentials.sum);
    if (dropout_) dropout_->apply(index * attention_.seq, n, row, row);
    return T(1) / exponentials.sum;
  }

  const AttentionAttributes& attention_;
  Heads<const Storage> q_, k_, v_;
  Heads<Storage> out_;
  T* lse_;
  std::optional<Dropout> dropout_;
  std::vector<Buffers<T>> buffers_;  // of each worker
};

void forward_fused(const model::Op& op, const ForwardArgs& args) {
  dispatch(args.reads[0].scalar_type(),
           [&]<class Storage>() { Forward<Storage>(attention_of(op), args).run(); });
}

at::Tensor plain_factors(const AttentionAttributes& a, const DropoutKey& key,
                         const at::Tensor& probabilities) {
  return dropout_factors(key, a.dropout, probabilities.sizes(), probabilities.options());
}

/// q, k and v, [b, H, s, d] each.
struct PlainInput {
  at::Tensor q, k, v;

  PlainInput(const AttentionAttributes& a, std::span<const at::Tensor> reads)
      : q(plain_heads(a, reads[0], 0, a.num_heads)),
        k(repeat_heads(a, plain_heads(a, reads[k_read(a)], first_k_head(a), a.num_kv_heads))),
        v(repeat_heads(a, plain_heads(a, reads[v_read(a)], first_v_head(a), a.num_kv_heads))) {}
};

void forward_plain(const model::Op& op, const ForwardArgs& args) {
  const AttentionAttributes& a = attention_of(op);
  const PlainInput in(a, args.reads);
  const at::Tensor scores = plain_scores(a, in.q, in.k);
  const at::Tensor lse = at::logsumexp(scores, -1, true);
  at::Tensor p = (scores - lse).exp();
  if (a.dropout > 0) p = p * plain_factors(a, args.key, p);
  args.writes[0].copy_(plain_tokens(at::matmul(p, in.v)));
  args.writes[1].copy_(lse.squeeze(-1));
}

void backward_plain(const model::Op& op, const BackwardArgs& args) {
  const AttentionAttributes& a = attention_of(op);
  const PlainInput in(a, args.saved);
  const at::Tensor out = plain_heads(a, args.saved[args.saved.size() - 2], 0, a.num_heads);
  const at::Tensor out_gradient = plain_heads(a, args.write_gradients[0], 0, a.num_heads);
  const at::Tensor p = (plain_scores(a, in.q, in.k) - args.saved.back().unsqueeze(-1)).exp();
  at::Tensor dropped = p, p_gradient = at::matmul(out_gradient, in.v.transpose(-2, -1));
  if (a.dropout > 0) {
    const at::Tensor factors = plain_factors(a, args.key, p);
    dropped = p * factors;
    p_gradient = p_gradient * factors;
  }
  const at::Tensor delta = (out * out_gradient).sum(-1, true);
  const at::Tensor s_gradient = p * (p_gradient - delta) * attention_scale(a);
  const auto of_copies = [&](const at::Tensor& matrix, const at::Tensor& rows) {
    return sum_copies(a, at::matmul(matrix.transpose(-2, -1), rows));
  };
  deliver_heads(args.read_gradients[0], 0, at::matmul(s_gradient, in.k));
  deliver_heads(args.read_gradients[k_read(a)], first_k_head(a), of_copies(s_gradient, in.q));
  deliver_heads(args.read_gradients[v_read(a)], first_v_head(a), of_copies(dropped, out_gradient));
}

}  // namespace

at::Tensor plain_heads(const AttentionAttributes& attention, const at::Tensor& tokens,
                       int64_t first, int64_t count) {
  return tokens.narrow(1, first, count)
      .reshape({attention.batch, attention.seq, count, attention.head_dim})
      .transpose(1, 2)
      .to(accumulate_type(tokens.scalar_type()));
}

at::Tensor plain_tokens(const at::Tensor& heads) {
  return heads.transpose(1, 2).reshape({-1, heads.size(1), heads.size(3)});
}

at::Tensor repeat_heads(const AttentionAttributes& attention, const at::Tensor& kv) {
  return kv.repeat_interleave(group_size(attention), 1);
}

at::Tensor sum_copies(const AttentionAttributes& attention, const at::Tensor& heads) {
  return heads.unflatten(1, {attention.num_kv_heads, group_size(attention)}).sum(2);
}

at::Tensor plain_scores(const AttentionAttributes& attention, const at::Tensor& q,
                        const at::Tensor& k) {
  const at::Tensor future =
      at::ones({attention.seq, attention.seq}, q.options().dtype(at::kBool)).triu(1);
  return (at::matmul(q, k.transpose(-2, -1)) * attention_scale(attention))
      .masked_fill(future, -std::numeric_limits<double>::infinity());
}

void deliver_heads(const GradientOut& out, int64_t first, const at::Tensor& heads) {
  const at::Tensor to = out.tensor.narrow(1, first, heads.size(1));
  const at::Tensor tokens = plain_tokens(heads);
  if (out.accumulate) {
    to.add_(tokens);
  } else {
    to.copy_(tokens);
  }
}

Kernel attention_kernel(KernelSet set) {
  return set == KernelSet::kFused ? Kernel{forward_fused, attention_backward_fused}
                                  : Kernel{forward_plain, backward_plain};
}

}  // namespace refrain::engine
