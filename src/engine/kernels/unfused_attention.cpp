// Unfused causal attention: scores and context are ops of their own (softmax.cpp stands between
// them), the score matrices [b, H, s, s] tensors like any other. Above the diagonal nothing is
// computed: scores hold -inf there, probabilities and both gradients 0. Dropout's mask is made on
// the fly and is the fused kernel's.
//
// Backward meets the packed qkv in two halves: context comes first and writes its v heads (where
// the gradient is fresh also zeros into the q and k heads), then scores adds its q and k heads.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include <limits>
#include <vector>

#include "engine/kernels/attention.h"
#include "engine/kernels/gradient_out.h"
#include "engine/kernels/kernel_list.h"
#include "engine/numerics/gemm.h"
#include "engine/numerics/scratch_carver.h"

namespace refrain::engine {
namespace {

/// How many pieces of each kind a worker has: [kAttentionRows, s], [kAttentionRows, d], [s, d].
struct PieceCounts {
  int scores = 0, rows = 0, heads = 0;
};

template <class T>
struct Buffers {
  T *scores[2] = {}, *rows[2] = {}, *heads[2] = {};
};

/// One a worker, in the order of model/scratch.cpp.
template <class T>
std::vector<Buffers<T>> carve(const AttentionAttributes& a, ScratchBlock block,
                              PieceCounts counts) {
  ScratchCarver carver(block);
  std::vector<Buffers<T>> workers(at::get_num_threads());
  for (Buffers<T>& worker : workers) {
    for (int i = 0; i < counts.scores; ++i) {
      worker.scores[i] = carver.take<T>(model::kAttentionRows * a.seq);
    }
    for (int i = 0; i < counts.rows; ++i) {
      worker.rows[i] = carver.take<T>(model::kAttentionRows * a.head_dim);
    }
    for (int i = 0; i < counts.heads; ++i) worker.heads[i] = carver.take<T>(a.seq * a.head_dim);
  }
  carver.check_all_taken();
  return workers;
}

/// The rows of a block, up to the last key that one of them sees, in a tensor [b, H, s, s].
template <class Storage>
Matrix<Storage> score_block(const AttentionAttributes& a, const QueryBlock& block,
                            Storage* scores) {
  return {scores + score_row(a, block, 0) * a.seq, block.rows, block.keys, a.seq};
}

/// Fills what lies above the diagonal.
template <class Storage>
void fill_future(const AttentionAttributes& a, const QueryBlock& block, Matrix<Storage> scores,
                 Storage value) {
  for (int64_t i = 0; i < block.rows; ++i) {
    std::fill(scores.row(i) + block.begin + i + 1, scores.row(i) + a.seq, value);
  }
}

/// Calls f(block, worker) for all blocks of all heads.
template <class F>
void for_each_block(const AttentionAttributes& a, const F& f) {
  const int64_t blocks = num_query_blocks(a);
  parallel_for(a.batch * a.num_heads * blocks, [&](int64_t task, int64_t worker) {
    const int64_t head = task / blocks;
    f(query_block(a, head / a.num_heads, head % a.num_heads, task % blocks), worker);
  });
}

/// Calls f(batch, kv_head, worker) for all kv heads.
template <class F>
void for_each_kv_head(const AttentionAttributes& a, const F& f) {
  parallel_for(a.batch * a.num_kv_heads, [&](int64_t task, int64_t worker) {
    f(task / a.num_kv_heads, task % a.num_kv_heads, worker);
  });
}

/// Calls f(block) for the blocks that read a kv head, in a fixed order.
template <class F>
void for_each_reader(const AttentionAttributes& a, int64_t batch, int64_t kv_head, const F& f) {
  for (int64_t member = 0; member < group_size(a); ++member) {
    for (int64_t index = 0; index < num_query_blocks(a); ++index) {
      f(query_block(a, batch, kv_head * group_size(a) + member, index));
    }
  }
}

/// Where to sum up a head's gradient over several GEMMs that all add.
template <class Storage>
Matrix<Accumulate<Storage>> start_sum(Matrix<Storage> gradient, bool accumulate,
                                      Accumulate<Storage>* buffer) {
  const auto sum = staged(gradient, buffer);
  if (kConverts<Storage> || !accumulate) fill_zero(sum);
  return sum;
}
template <class Storage>
void finish_sum(Matrix<Accumulate<Storage>> sum, Matrix<Storage> gradient, bool accumulate) {
  if constexpr (kConverts<Storage>) narrow(sum.as_const(), gradient, accumulate);
}

// --- scores: S = c q k^T ------------------------------------------------------------------------

template <class Storage>
void scores_forward(const AttentionAttributes& a, const ForwardArgs& args) {
  const auto q = heads_of<const Storage>(a, args.reads[0], 0);
  const auto k = heads_of<const Storage>(a, args.reads[k_read(a)], first_k_head(a));
  Storage* scores = pointer<Storage>(args.writes[0]);
  const auto workers = carve<Accumulate<Storage>>(
      a, args.scratch, kConverts<Storage> ? PieceCounts{1, 1, 1} : PieceCounts{});
  for_each_block(a, [&](const QueryBlock& block, int64_t worker) {
    const auto& buffers = workers[worker];
    const auto to = score_block(a, block, scores);
    const auto stage = staged(to, buffers.scores[0]);
    gemm_nt(widen(rows_of_block(q, block), buffers.rows[0]),
            widen(rows_seen(k, block), buffers.heads[0]), stage, {.scale = attention_scale(a)});
    if constexpr (kConverts<Storage>) narrow(stage.as_const(), to, false);
    fill_future(a, block, to, static_cast<Storage>(-std::numeric_limits<float>::infinity()));
  });
}

template <class Storage>
void scores_backward(const AttentionAttributes& a, const BackwardArgs& args) {
  const auto q = heads_of<const Storage>(a, args.saved[0], 0);
  const auto k = heads_of<const Storage>(a, args.saved[k_read(a)], first_k_head(a));
  const GradientOut &q_out = args.read_gradients[0], &k_out = args.read_gradients[k_read(a)];
  const auto q_gradient = heads_of<Storage>(a, q_out.tensor, 0);
  const auto k_gradient = heads_of<Storage>(a, k_out.tensor, first_k_head(a));
  const Storage* s_gradient = const_pointer<Storage>(args.write_gradients[0]);
  const auto workers = carve<Accumulate<Storage>>(
      a, args.scratch, kConverts<Storage> ? PieceCounts{1, 2, 2} : PieceCounts{});
  const double scale = attention_scale(a);
  for_each_kv_head(a, [&](int64_t batch, int64_t kv_head, int64_t worker) {
    const auto& buffers = workers[worker];
    const auto k_head = widen(k.of(batch, kv_head), buffers.heads[0]);
    const auto k_to = k_gradient.of(batch, kv_head);
    const auto k_sum = start_sum(k_to, k_out.accumulate, buffers.heads[1]);
    for_each_reader(a, batch, kv_head, [&](const QueryBlock& block) {
      const auto s = widen(score_block(a, block, s_gradient), buffers.scores[0]);
      const auto q_to = rows_of_block(q_gradient, block);
      const auto q_stage = staged(q_to, buffers.rows[1]);
      gemm_nn(s, k_head.row_block(0, block.keys), q_stage,
              {.scale = scale, .accumulate = !kConverts<Storage> && q_out.accumulate});
      finish_sum(q_stage, q_to, q_out.accumulate);
      gemm_tn(s, widen(rows_of_block(q, block), buffers.rows[0]), k_sum.row_block(0, block.keys),
              {.scale = scale, .accumulate = true});
    });
    finish_sum(k_sum, k_to, k_out.accumulate);
    if (!a.separate_qkv && !q_out.accumulate) {
      fill_zero(heads_of<Storage>(a, q_out.tensor, first_v_head(a)).of(batch, kv_head));
    }
  });
}

// --- context: dropout(P) v ----------------------------------------------------------------------

/// dropout(P) of a block: itself in float32 and float64 without dropout, else made in `buffer`.
/// Where `gradient` is given, its factors are applied to it as well.
template <class Storage>
Matrix<const Accumulate<Storage>> drop(const AttentionAttributes& a, const QueryBlock& block,
                                       const std::optional<Dropout>& dropout,
                                       Matrix<const Storage> p, Accumulate<Storage>* buffer,
                                       const Matrix<Accumulate<Storage>>* gradient = nullptr) {
  using T = Accumulate<Storage>;
  if (!dropout) return widen(p, buffer);
  const auto dropped = dense(buffer, block.rows, block.keys);
  for (int64_t i = 0; i < block.rows; ++i) {
    const int64_t seen = block.begin + i + 1;
    const auto apply = [&](int64_t j, const T* factors, int64_t count) {
      const Storage* in = p.row(i) + j;
      T* out = dropped.row(i) + j;
#pragma omp simd
      for (int64_t n = 0; n < count; ++n) out[n] = load(in[n]) * factors[n];
      if (gradient == nullptr) return;
      T* of_gradient = gradient->row(i) + j;
#pragma omp simd
      for (int64_t n = 0; n < count; ++n) of_gradient[n] *= factors[n];
    };
    dropout->for_each_span<T>(score_row(a, block, i) * a.seq, seen, apply);
    std::fill(dropped.row(i) + seen, dropped.row(i) + block.keys, T(0));
  }
  return dropped.as_const();
}

template <class Storage>
void context_forward(const AttentionAttributes& a, const ForwardArgs& args) {
  const Storage* p = const_pointer<Storage>(args.reads[0]);
  const auto v = heads_of<const Storage>(a, args.reads[1], first_v_head(a));
  const auto out = heads_of<Storage>(a, args.writes[0], 0);
  const std::optional<Dropout> dropout = dropout_of(a, args.key);
  const auto workers = carve<Accumulate<Storage>>(
      a, args.scratch,
      kConverts<Storage> ? PieceCounts{1, 1, 1} : PieceCounts{.scores = dropout ? 1 : 0});
  for_each_block(a, [&](const QueryBlock& block, int64_t worker) {
    const auto& buffers = workers[worker];
    const auto to = rows_of_block(out, block);
    const auto stage = staged(to, buffers.rows[0]);
    gemm_nn(drop(a, block, dropout, score_block(a, block, p), buffers.scores[0]),
            widen(rows_seen(v, block), buffers.heads[0]), stage);
    finish_sum(stage, to, false);
  });
}

template <class Storage>
void zero_q_and_k(const AttentionAttributes& a, const GradientOut& out, int64_t batch,
                  int64_t kv_head) {
  const auto q = heads_of<Storage>(a, out.tensor, 0);
  for (int64_t member = 0; member < group_size(a); ++member) {
    fill_zero(q.of(batch, kv_head * group_size(a) + member));
  }
  fill_zero(heads_of<Storage>(a, out.tensor, first_k_head(a)).of(batch, kv_head));
}

template <class Storage>
void context_backward(const AttentionAttributes& a, const BackwardArgs& args) {
  const GradientOut &p_out = args.read_gradients[0], &v_out = args.read_gradients[1];
  RC_CHECK(!p_out.accumulate);
  const Storage* p = const_pointer<Storage>(args.saved[0]);
  const auto v = heads_of<const Storage>(a, args.saved[1], first_v_head(a));
  const auto out_gradient = heads_of<const Storage>(a, args.write_gradients[0], 0);
  Storage* p_gradient = pointer<Storage>(p_out.tensor);
  const auto v_gradient = heads_of<Storage>(a, v_out.tensor, first_v_head(a));
  const std::optional<Dropout> dropout = dropout_of(a, args.key);
  const auto workers = carve<Accumulate<Storage>>(
      a, args.scratch,
      kConverts<Storage> ? PieceCounts{2, 1, 2} : PieceCounts{.scores = dropout ? 1 : 0});
  for_each_kv_head(a, [&](int64_t batch, int64_t kv_head, int64_t worker) {
    const auto& buffers = workers[worker];
    const auto v_head = widen(v.of(batch, kv_head), buffers.heads[0]);
    const auto v_to = v_gradient.of(batch, kv_head);
    const auto v_sum = start_sum(v_to, v_out.accumulate, buffers.heads[1]);
    for_each_reader(a, batch, kv_head, [&](const QueryBlock& block) {
      const auto gradient = widen(rows_of_block(out_gradient, block), buffers.rows[0]);
      const auto p_to = score_block(a, block, p_gradient);
      const auto p_stage = staged(p_to, buffers.scores[1]);
      gemm_nt(gradient, v_head.row_block(0, block.keys), p_stage);
      const auto dropped =
          drop(a, block, dropout, score_block(a, block, p), buffers.scores[0], &p_stage);
      gemm_tn(dropped, gradient, v_sum.row_block(0, block.keys), {.accumulate = true});
      finish_sum(p_stage, p_to, false);
      fill_future(a, block, p_to, Storage(0));
    });
    finish_sum(v_sum, v_to, v_out.accumulate);
    if (!a.separate_qkv && !v_out.accumulate) zero_q_and_k<Storage>(a, v_out, batch, kv_head);
  });
}

// --- the plain twins ----------------------------------------------------------------------------

at::Tensor plain_k(const AttentionAttributes& a, const at::Tensor& tensor) {
  return repeat_heads(a, plain_heads(a, tensor, first_k_head(a), a.num_kv_heads));
}
at::Tensor plain_v(const AttentionAttributes& a, const at::Tensor& tensor) {
  return repeat_heads(a, plain_heads(a, tensor, first_v_head(a), a.num_kv_heads));
}

/// Zeroes the heads of a fresh packed gradient that the op at hand does not reach.
void start_packed(const AttentionAttributes& a, const GradientOut& out) {
  if (!a.separate_qkv && !out.accumulate) out.tensor.zero_();
}

void scores_forward_plain(const model::Op& op, const ForwardArgs& args) {
  const AttentionAttributes& a = attention_of(op);
  args.writes[0].copy_(plain_scores(a, plain_heads(a, args.reads[0], 0, a.num_heads),
                                    plain_k(a, args.reads[k_read(a)])));
}

void scores_backward_plain(const model::Op& op, const BackwardArgs& args) {
  const AttentionAttributes& a = attention_of(op);
  const at::Tensor q = plain_heads(a, args.saved[0], 0, a.num_heads);
  const at::Tensor k = plain_k(a, args.saved[k_read(a)]);
  const at::Tensor s_gradient = args.write_gradients[0].to(q.scalar_type()) * attention_scale(a);
  start_packed(a, args.read_gradients[0]);
  deliver_heads(args.read_gradients[0], 0, at::matmul(s_gradient, k));
  deliver_heads(args.read_gradients[k_read(a)], first_k_head(a),
                sum_copies(a, at::matmul(s_gradient.transpose(-2, -1), q)));
}

at::Tensor plain_drop(const AttentionAttributes& a, const DropoutKey& key, const at::Tensor& p) {
  return a.dropout > 0 ? p * dropout_factors(key, a.dropout, p.sizes(), p.options()) : p;
}

void context_forward_plain(const model::Op& op, const ForwardArgs& args) {
  const AttentionAttributes& a = attention_of(op);
  const at::Tensor v = plain_v(a, args.reads[1]);
  const at::Tensor dropped = plain_drop(a, args.key, args.reads[0].to(v.scalar_type()));
  args.writes[0].copy_(plain_tokens(at::matmul(dropped, v)));
}

void context_backward_plain(const model::Op& op, const BackwardArgs& args) {
  const AttentionAttributes& a = attention_of(op);
  const at::Tensor v = plain_v(a, args.saved[1]);
  const at::Tensor out_gradient = plain_heads(a, args.write_gradients[0], 0, a.num_heads);
  const at::Tensor dropped = plain_drop(a, args.key, args.saved[0].to(v.scalar_type()));
  const at::Tensor p_gradient = at::matmul(out_gradient, v.transpose(-2, -1)).tril();
  deliver(args.read_gradients[0], plain_drop(a, args.key, p_gradient));
  start_packed(a, args.read_gradients[1]);
  deliver_heads(args.read_gradients[1], first_v_head(a),
                sum_copies(a, at::matmul(dropped.transpose(-2, -1), out_gradient)));
}

}  // namespace

Kernel attention_scores_kernel(KernelSet set) {
  if (set == KernelSet::kPlain) return {scores_forward_plain, scores_backward_plain};
  return {[](const model::Op& op, const ForwardArgs& args) {
            dispatch(args.writes[0].scalar_type(),
                     [&]<class Storage>() { scores_forward<Storage>(attention_of(op), args); });
          },
          [](const model::Op& op, const BackwardArgs& args) {
            dispatch(args.write_gradients[0].scalar_type(),
                     [&]<class Storage>() { scores_backward<Storage>(attention_of(op), args); });
          }};
}

Kernel attention_context_kernel(KernelSet set) {
  if (set == KernelSet::kPlain) return {context_forward_plain, context_backward_plain};
  return {[](const model::Op& op, const ForwardArgs& args) {
            dispatch(args.writes[0].scalar_type(),
                     [&]<class Storage>() { context_forward<Storage>(attention_of(op), args); });
          },
          [](const model::Op& op, const BackwardArgs& args) {
            dispatch(args.write_gradients[0].scalar_type(),
                     [&]<class Storage>() { context_backward<Storage>(attention_of(op), args); });
          }};
}

}  // namespace refrain::engine
