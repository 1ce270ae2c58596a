// Fused causal attention, backward. The probabilities are made again from the log-sum-exp (Dao et
// al., "FlashAttention" (2022), appendix B.4), a tile of query rows and keys at a time. With
// c = 1 / sqrt(d):
//   S = c Q K^T, P = exp(S - lse), dV += dropout(P)^T dO, dP = dropout(dO V^T),
//   D = rowsum(dO o O), dS = P o (dP - D), dQ += c dS K, dK += c dS^T Q.
// A task owns a share of the query blocks that read one kv head: all of them, or a fixed part
// where there are few kv heads. Shares have their own dK and dV, added up in order at the end, so
// no sum depends on the number of workers.
#include <ATen/Parallel.h>

#include <vector>

#include "engine/kernels/attention.h"
#include "engine/numerics/gemm.h"
#include "engine/numerics/scratch_carver.h"
#include "engine/numerics/vector_math.h"

namespace refrain::engine {
namespace {

/// A worker's buffers; all but the tiles are for bf16 alone. model/scratch.cpp sums them up.
template <class T>
struct Buffers {
  T *p = nullptr, *s = nullptr;  // tiles: dropout(P), dS
  T *q = nullptr, *q_gradient = nullptr, *out_gradient = nullptr, *k = nullptr, *v = nullptr;

  Buffers(const AttentionAttributes& attention, bool converts, ScratchCarver& carver) {
    const int64_t tile_keys = std::min(attention.seq, model::kAttentionKeys);
    for (T** tile : {&p, &s}) *tile = carver.take<T>(model::kAttentionRows * tile_keys);
    if (!converts) return;
    for (T** rows : {&q, &q_gradient, &out_gradient}) {
      *rows = carver.take<T>(model::kAttentionRows * attention.head_dim);
    }
    for (T** head : {&k, &v}) *head = carver.take<T>(attention.seq * attention.head_dim);
  }
};

/// A kv head and the sums of its gradients, [s, d] each.
template <class T>
struct KvHead {
  Matrix<const T> k, v;
  Matrix<T> k_gradient, v_gradient;
};

/// The matrices of one query block, [rows, d] each, and D of its rows.
template <class T>
struct BlockRows {
  Matrix<const T> q, out_gradient;
  Matrix<T> q_gradient;
  T delta[model::kAttentionRows];
};

/// One query row and `n` of the keys that it sees: S, then dropout(P), and dP, then dS.
template <class T>
struct TileRow {
  T *p, *s;
  int64_t n;
  T lse, delta;
};

template <class T>
void differentiate(const TileRow<T>& row) {
  T *p = row.p, *s = row.s;
  const T lse = row.lse, delta = row.delta;
#pragma omp simd
  for (int64_t j = 0; j < row.n; ++j) {
    const T probability = vector_exp(p[j] - lse);
    p[j] = probability;
    s[j] = probability * (s[j] - delta);
  }
}

/// The same where each element has a dropout factor.
template <class T>
void differentiate(const TileRow<T>& row, const T* factors) {
  T *p = row.p, *s = row.s;
  const T lse = row.lse, delta = row.delta;
#pragma omp simd
  for (int64_t j = 0; j < row.n; ++j) {
    const T probability = vector_exp(p[j] - lse);
    p[j] = probability * factors[j];
    s[j] = probability * (s[j] * factors[j] - delta);
  }
}

template <class Storage>
class Backward {
 public:
  using T = Accumulate<Storage>;

  Backward(const AttentionAttributes& a, const BackwardArgs& args)
      : attention_(a),
        q_(heads_of<const Storage>(a, args.saved[0], 0)),
        k_(heads_of<const Storage>(a, args.saved[k_read(a)], first_k_head(a))),
        v_(heads_of<const Storage>(a, args.saved[v_read(a)], first_v_head(a))),
        out_(heads_of<const Storage>(a, args.saved[args.saved.size() - 2], 0)),
        out_gradient_(heads_of<const Storage>(a, args.write_gradients[0], 0)),
        lse_(const_pointer<T>(args.saved.back())),
        q_gradient_(a, args.read_gradients[0], 0),
        k_gradient_(a, args.read_gradients[k_read(a)], first_k_head(a)),
        v_gradient_(a, args.read_gradients[v_read(a)], first_v_head(a)),
        dropout_(dropout_of(a, args.key)),
        shares_(model::attention_shares(a)) {
    ScratchCarver carver(args.scratch);
    for (int worker = 0; worker < at::get_num_threads(); ++worker) {
      buffers_.emplace_back(a, kConverts<Storage>, carver);
    }
    partials_ = carver.take<T>(num_kv_heads() * num_partials() * 2 * a.seq * a.head_dim);
    carver.check_all_taken();
  }

  void run() const {
    parallel_for(num_kv_heads() * shares_, [&](int64_t task, int64_t worker) {
      run_share(task / shares_, task % shares_, buffers_[worker]);
    });
    if (num_partials() == 0) return;
    parallel_for(num_kv_heads() * 2, [&](int64_t task, int64_t) {
      add_partials(task / 2, task % 2 == 0 ? Which::kK : Which::kV);
    });
  }

 private:
  enum class Which { kK, kV };
  struct Gradient {
    Heads<Storage> heads;
    bool accumulate;

    Gradient(const AttentionAttributes& a, const GradientOut& out, int64_t first)
        : heads(heads_of<Storage>(a, out.tensor, first)), accumulate(out.accumulate) {}
  };

  int64_t num_kv_heads() const { return attention_.batch * attention_.num_kv_heads; }
  /// Shares of a kv head whose sums stand in scratch. The first may sum in the gradient itself.
  int64_t num_partials() const { return shares_ - kFirstPartial; }
  static constexpr int64_t kFirstPartial = kConverts<Storage> ? 0 : 1;

  const Gradient& gradient_of(Which which) const {
    return which == Which::kK ? k_gradient_ : v_gradient_;
  }
  Matrix<Storage> gradient_head(int64_t kv_index, Which which) const {
    return gradient_of(which).heads.of(kv_index / attention_.num_kv_heads,
                                       kv_index % attention_.num_kv_heads);
  }

  /// Where a share sums up dK or dV of its kv head.
  Matrix<T> sum_of(int64_t kv_index, int64_t share, Which which) const {
    if constexpr (!kConverts<Storage>) {
      if (share == 0) return gradient_head(kv_index, which);
    }
    const int64_t index =
        (kv_index * num_partials() + share - kFirstPartial) * 2 + (which == Which::kV ? 1 : 0);
    return dense(partials_ + index * attention_.seq * attention_.head_dim, attention_.seq,
                 attention_.head_dim);
  }
  Matrix<T> start_sum(int64_t kv_index, int64_t share, Which which) const {
    const Matrix<T> sum = sum_of(kv_index, share, which);
    const bool holds_a_gradient = share < kFirstPartial && gradient_of(which).accumulate;
    if (!holds_a_gradient) fill_zero(sum);
    return sum;
  }

  void add_partials(int64_t kv_index, Which which) const {
    const Matrix<T> sum = sum_of(kv_index, 0, which);
    for (int64_t share = 1; share < shares_; ++share) {
      narrow<T>(sum_of(kv_index, share, which).as_const(), sum, true);
    }
    if constexpr (kConverts<Storage>) {
      narrow(sum.as_const(), gradient_head(kv_index, which), gradient_of(which).accumulate);
    }
  }

  void run_share(int64_t kv_index, int64_t share, const Buffers<T>& buffers) const {
    const int64_t batch = kv_index / attention_.num_kv_heads;
    const int64_t kv_head = kv_index % attention_.num_kv_heads;
    const KvHead<T> kv = {
        .k = widen(k_.of(batch, kv_head), buffers.k),
        .v = widen(v_.of(batch, kv_head), buffers.v),
        .k_gradient = start_sum(kv_index, share, Which::kK),
        .v_gradient = start_sum(kv_index, share, Which::kV),
    };
    const int64_t group = group_size(attention_);
    for (int64_t i = share; i < group * num_query_blocks(attention_); i += shares_) {
      run_block(query_block(attention_, batch, kv_head * group + i % group, i / group), kv,
                buffers);
    }
  }

  void run_block(const QueryBlock& block, const KvHead<T>& kv, const Buffers<T>& buffers) const {
    const auto to = rows_of_block(q_gradient_.heads, block);
    BlockRows<T> rows = {
        .q = widen(rows_of_block(q_, block), buffers.q),
        .out_gradient = widen(rows_of_block(out_gradient_, block), buffers.out_gradient),
        .q_gradient = staged(to, buffers.q_gradient),
        .delta = {},
    };
    fill_delta(rows_of_block(out_, block), rows);
    for (int64_t first = 0; first < block.keys; first += model::kAttentionKeys) {
      run_tile(block, rows, kv, first, buffers);
    }
    if constexpr (kConverts<Storage>) {
      narrow(rows.q_gradient.as_const(), to, q_gradient_.accumulate);
    }
  }

  static void fill_delta(Matrix<const Storage> out, BlockRows<T>& rows) {
    for (int64_t i = 0; i < out.rows; ++i) {
      const Storage* o = out.row(i);
      const T* gradient = rows.out_gradient.row(i);
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < out.columns; ++j) sum += load(o[j]) * gradient[j];
      rows.delta[i] = sum;
    }
  }

  /// The block against keys [first, first + kAttentionKeys).
  void run_tile(const QueryBlock& block, const BlockRows<T>& rows, const KvHead<T>& kv,
                int64_t first, const Buffers<T>& buffers) const {
    const int64_t count = std::min(model::kAttentionKeys, block.keys - first);
    const auto k = kv.k.row_block(first, count);
    const auto p = dense(buffers.p, block.rows, count), s = dense(buffers.s, block.rows, count);
    const double scale = attention_scale(attention_);
    gemm_nt(rows.q, k, p, {.scale = scale});
    gemm_nt(rows.out_gradient, kv.v.row_block(first, count), s);
    for (int64_t i = 0; i < block.rows; ++i) {
      const int64_t n = std::clamp<int64_t>(block.begin + i + 1 - first, 0, count);
      const int64_t index = score_row(attention_, block, i);
      const TileRow<T> row = {p.row(i), s.row(i), n, lse_[index], rows.delta[i]};
      if (dropout_) {
        dropout_->for_each_span<T>(
            index * attention_.seq + first, n, [&](int64_t j, const T* factors, int64_t span) {
              differentiate({row.p + j, row.s + j, span, row.lse, row.delta}, factors);
            });
      } else {
        differentiate(row);
      }
      for (T* tail : {row.p, row.s}) std::fill(tail + n, tail + count, T(0));
    }
    gemm_tn(p.as_const(), rows.out_gradient, kv.v_gradient.row_block(first, count),
            {.accumulate = true});
    gemm_tn(s.as_const(), rows.q, kv.k_gradient.row_block(first, count),
            {.scale = scale, .accumulate = true});
    const bool adds = first > 0 || (!kConverts<Storage> && q_gradient_.accumulate);
    gemm_nn(s.as_const(), k, rows.q_gradient, {.scale = scale, .accumulate = adds});
  }

  const AttentionAttributes& attention_;
  Heads<const Storage> q_, k_, v_, out_, out_gradient_;
  const T* lse_;
  Gradient q_gradient_, k_gradient_, v_gradient_;
  std::optional<Dropout> dropout_;
  int64_t shares_;  // of each kv head's query blocks
  std::vector<Buffers<T>> buffers_;
  T* partials_;
};

}  // namespace

void attention_backward_fused(const model::Op& op, const BackwardArgs& args) {
  dispatch(args.write_gradients[0].scalar_type(),
           [&]<class Storage>() { Backward<Storage>(attention_of(op), args).run(); });
}

}  // namespace refrain::engine
