#include "model/dense.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "model/scratch.h"

namespace refrain::model {
namespace {

using config::Label;
using config::ModelConfig;
using config::RunShape;

constexpr double kInitStd = 0.02;

// Residual projections start smaller, as in GPT-2 (Radford et al. 2019, section 2.3).
double residual_init_std(const ModelConfig& config) {
  return kInitStd / std::sqrt(2.0 * static_cast<double>(config.num_layers));
}

DType compute_dtype(config::Precision precision) {
  switch (precision) {
    case config::Precision::kF32:
      return DType::kF32;
    case config::Precision::kBf16:
      return DType::kBF16;
    case config::Precision::kF64:
      return DType::kF64;
  }
  return DType::kF32;
}

// Logits of a chunk stay near the last-level cache, and the chunk is large enough for a GEMM.
int64_t head_chunk_tokens(int64_t tokens, int64_t vocab) {
  constexpr int64_t kChunkBytes = int64_t{16} << 20;
  const int64_t fitting = std::max<int64_t>(64, kChunkBytes / (4 * vocab));
  return std::min<int64_t>(tokens, std::bit_floor(static_cast<uint64_t>(fitting)));
}

/// Appends ops to one block and wires their tensors; every method returns the op's output.
class BlockBuilder {
 public:
  BlockBuilder(const ModelConfig& config, const RunShape& shape)
      : config_(config),
        shape_(shape),
        dtype_(compute_dtype(shape.precision)),
        statistics_(dtype_ == DType::kF64 ? DType::kF64 : DType::kF32) {}

  TensorId input() {
    graph_.input = tensor("input", {shape_.tokens(), config_.hidden});
    return *graph_.input;
  }

  /// Ops added until the next call stand in `module` and carry `labels`.
  void enter(Module module, std::vector<Label> labels = {}) {
    module_ = module;
    labels_ = std::move(labels);
  }

  TensorId embedding();
  TensorId dropout(const std::string& name, TensorId x);
  TensorId norm(const std::string& name, TensorId x, config::NormKind kind);
  TensorId linear(const std::string& name, const std::string& output, TensorId x, Shape out_shape,
                  bool bias, double init_std);
  TensorId rope(const std::string& output, TensorId x, int64_t num_rotated);
  TensorId attention(const std::vector<TensorId>& q_k_v);
  TensorId activation(TensorId x);
  TensorId add(const std::string& output, TensorId residual, TensorId branch);
  void head_loss(TensorId x);

  LayerGraph finish(std::optional<TensorId> output) {
    graph_.output = output;
    for (Op& op : graph_.ops) {
      const Scratch scratch = scratch_of(graph_, op, shape_.threads);
      op.forward_scratch = scratch.forward;
      op.backward_scratch = scratch.backward;
    }
    check(graph_);
    return std::move(graph_);
  }

 private:
  TensorId tensor(std::string name, Shape shape, std::optional<DType> dtype = {}) {
    graph_.tensors.push_back({std::move(name), std::move(shape), dtype.value_or(dtype_)});
    return static_cast<TensorId>(graph_.tensors.size() - 1);
  }
  ParamId param(ParamSpec spec) {
    graph_.params.push_back(std::move(spec));
    return static_cast<ParamId>(graph_.params.size() - 1);
  }
  Op& add_op(Op op) {
    op.labels = labels_;
    op.module = module_;
    return graph_.ops.emplace_back(std::move(op));
  }
  const Shape& shape_of(TensorId id) const { return graph_.tensors[id].shape; }
  Flops elementwise(TensorId id, double flops) const {
    return Flops(flops * static_cast<double>(numel(shape_of(id))));
  }
  void fused_attention(const std::vector<TensorId>& reads, TensorId out,
                       const AttentionAttributes& attributes);
  void unfused_attention(const std::vector<TensorId>& reads, TensorId out,
                         const AttentionAttributes& attributes);

  const ModelConfig& config_;
  const RunShape& shape_;
  DType dtype_;
  DType statistics_;
  LayerGraph graph_;
  Module module_ = Module::kNone;
  std::vector<Label> labels_;
};

TensorId BlockBuilder::embedding() {
  const TensorId out = tensor("embedding.out", {shape_.tokens(), config_.hidden});
  const bool positions = config_.position == config::PositionKind::kLearned;
  std::vector<ParamId> params = {param({.name = "embedding.weight",
                                        .shape = {config_.vocab, config_.hidden},
                                        .decay = true,
                                        .model_wide = true})};
  if (positions) {
    params.push_back(param({.name = "positions.weight",
                            .shape = {config_.max_positions, config_.hidden},
                            .decay = true,
                            .model_wide = true}));
  }
  add_op({.kind = OpKind::kEmbedding,
          .name = "embedding",
          .attributes = EmbeddingAttributes{shape_.seq, positions},
          .writes = {out},
          .params = std::move(params),
          .forward_flops = elementwise(out, 1),
          .backward_flops = elementwise(out, 1)});
  return out;
}

TensorId BlockBuilder::dropout(const std::string& name, TensorId x) {
  if (shape_.dropout == 0) return x;
  const TensorId out = tensor(name + ".out", shape_of(x));
  add_op({.kind = OpKind::kDropout,
          .name = name,
          .attributes = DropoutAttributes{shape_.dropout},
          .reads = {x},
          .writes = {out},
          .in_place_read = 0,
          .shared_gradient_reads = {0},
          .forward_flops = elementwise(out, 1),
          .backward_flops = elementwise(out, 1)});
  return out;
}

TensorId BlockBuilder::norm(const std::string& name, TensorId x, config::NormKind kind) {
  const Shape x_shape = shape_of(x);
  const int64_t width = x_shape.back();
  const int64_t rows = numel(x_shape) / width;
  const bool layer_norm = kind == config::NormKind::kLayerNorm;
  const TensorId y = tensor(name + ".out", x_shape);
  const TensorId statistics =
      tensor(name + ".statistics", layer_norm ? Shape{2, rows} : Shape{rows}, statistics_);
  std::vector<ParamId> params = {
      param({.name = name + ".weight", .shape = {width}, .init = Init::kOnes})};
  if (layer_norm) {
    params.push_back(param({.name = name + ".bias", .shape = {width}, .init = Init::kZeros}));
  }
  add_op({.kind = OpKind::kNorm,
          .name = name,
          .attributes = NormAttributes{kind, config_.norm_eps},
          .reads = {x},
          .writes = {y, statistics},
          .params = std::move(params),
          .backward_reads = {x, statistics},
          .forward_flops = elementwise(x, 5),
          .backward_flops = elementwise(x, 9)});
  return y;
}

TensorId BlockBuilder::linear(const std::string& name, const std::string& output, TensorId x,
                              Shape out_shape, bool bias, double init_std) {
  const int64_t tokens = shape_.tokens();
  const int64_t in = numel(shape_of(x)) / tokens;
  const int64_t out = numel(out_shape) / tokens;
  const TensorId y = tensor(output, std::move(out_shape));
  std::vector<ParamId> params = {
      param({.name = name + ".weight", .shape = {out, in}, .init_std = init_std, .decay = true})};
  if (bias) params.push_back(param({.name = name + ".bias", .shape = {out}, .init = Init::kZeros}));
  const double gemm = 2.0 * static_cast<double>(tokens) * static_cast<double>(in * out);
  add_op({.kind = OpKind::kLinear,
          .name = name,
          .attributes = LinearAttributes{in, out, bias},
          .reads = {x},
          .writes = {y},
          .params = std::move(params),
          .backward_reads = {x},
          .splits_backward = true,
          .forward_flops = Flops(gemm),
          .backward_flops = Flops(2 * gemm)});
  return y;
}

TensorId BlockBuilder::rope(const std::string& output, TensorId x, int64_t num_rotated) {
  if (config_.position != config::PositionKind::kRope) return x;
  const TensorId out = tensor(output, shape_of(x));
  const ParamId table = param({.name = "rope.table",
                               .shape = {2, shape_.seq, config_.head_dim / 2},
                               .init = Init::kRopeTable,
                               .rope_base = config_.rope_base,
                               .trained = false,
                               .model_wide = true});
  add_op({.kind = OpKind::kRope,
          .name = output + ".rope",
          .attributes = RopeAttributes{shape_.seq, num_rotated, config_.head_dim},
          .reads = {x},
          .writes = {out},
          .params = {table},
          .in_place_read = 0,
          .shared_gradient_reads = {0},
          .forward_flops = elementwise(x, 3),
          .backward_flops = elementwise(x, 3)});
  return out;
}

void BlockBuilder::fused_attention(const std::vector<TensorId>& reads, TensorId out,
                                   const AttentionAttributes& attributes) {
  const TensorId lse = tensor(
      "attn.log_sum_exp", {attributes.batch, attributes.num_heads, attributes.seq}, statistics_);
  std::vector<TensorId> backward_reads = reads;
  backward_reads.insert(backward_reads.end(), {out, lse});
  // Two GEMMs forward and five backward over the causal half of the scores.
  const double half_gemm =
      static_cast<double>(attributes.seq * attributes.head_dim) *
      static_cast<double>(attributes.batch * attributes.num_heads * attributes.seq);
  add_op({.kind = OpKind::kAttention,
          .name = "attn.core",
          .attributes = attributes,
          .reads = reads,
          .writes = {out, lse},
          .backward_reads = std::move(backward_reads),
          .forward_flops = Flops(2 * half_gemm),
          .backward_flops = Flops(5 * half_gemm)});
}

void BlockBuilder::unfused_attention(const std::vector<TensorId>& reads, TensorId out,
                                     const AttentionAttributes& attributes) {
  const Shape square = {attributes.batch, attributes.num_heads, attributes.seq, attributes.seq};
  const TensorId scores = tensor("attn.scores", square);
  const TensorId probabilities = tensor("attn.probabilities", square);
  const std::vector<TensorId> q_k(reads.begin(), reads.end() - (attributes.separate_qkv ? 1 : 0));
  const TensorId v = reads.back();
  const double gemm = 2.0 * static_cast<double>(numel(square) * attributes.head_dim);
  add_op({.kind = OpKind::kAttentionScores,
          .name = "attn.scores",
          .attributes = attributes,
          .reads = q_k,
          .writes = {scores},
          .backward_reads = q_k,
          .forward_flops = Flops(gemm),
          .backward_flops = Flops(2 * gemm)});
  add_op({.kind = OpKind::kSoftmax,
          .name = "attn.softmax",
          .attributes = SoftmaxAttributes{},
          .reads = {scores},
          .writes = {probabilities},
          .backward_reads = {probabilities},
          .in_place_read = 0,
          .shared_gradient_reads = {0},
          .forward_flops = elementwise(scores, 5),
          .backward_flops = elementwise(scores, 4)});
  add_op({.kind = OpKind::kAttentionContext,
          .name = "attn.context",
          .attributes = attributes,
          .reads = {probabilities, v},
          .writes = {out},
          .backward_reads = {probabilities, v},
          .forward_flops = Flops(gemm),
          .backward_flops = Flops(2 * gemm)});
}

TensorId BlockBuilder::attention(const std::vector<TensorId>& q_k_v) {
  const TensorId out =
      tensor("attn.core.out", {shape_.tokens(), config_.num_heads, config_.head_dim});
  const AttentionAttributes attributes = {shape_.micro_batch,   shape_.seq,       config_.num_heads,
                                          config_.num_kv_heads, config_.head_dim, shape_.dropout,
                                          q_k_v.size() == 3};
  if (shape_.attention == config::AttentionBackend::kFused) {
    fused_attention(q_k_v, out, attributes);
  } else {
    unfused_attention(q_k_v, out, attributes);
  }
  return out;
}

TensorId BlockBuilder::activation(TensorId x) {
  const bool gated = config_.activation == config::ActivationKind::kSwiglu;
  const TensorId out = tensor("mlp.activation", {shape_.tokens(), config_.ffn_hidden});
  Op& op = add_op({.kind = OpKind::kActivation,
                   .name = "mlp.act",
                   .attributes = ActivationAttributes{config_.activation},
                   .reads = {x},
                   .writes = {out},
                   .backward_reads = {x},
                   .forward_flops = elementwise(out, 8),
                   .backward_flops = elementwise(out, 14)});
  if (gated) {
    op.gradient_reuse = {.from = 0, .read = 0};
  } else {
    op.shared_gradient_reads = {0};
  }
  op.labels.push_back(Label::kPointwise);
  return out;
}

TensorId BlockBuilder::add(const std::string& output, TensorId residual, TensorId branch) {
  const TensorId out = tensor(output, shape_of(residual));
  const bool drops = shape_.dropout > 0;
  add_op({.kind = OpKind::kAdd,
          .name = output + ".add",
          .attributes = DropoutAttributes{shape_.dropout},
          .reads = {residual, branch},
          .writes = {out},
          .in_place_read = 1,
          .shared_gradient_reads = drops ? std::vector<int>{0} : std::vector<int>{0, 1},
          .forward_flops = elementwise(out, drops ? 3 : 1),
          .backward_flops = elementwise(out, drops ? 2 : 0)});
  return out;
}

void BlockBuilder::head_loss(TensorId x) {
  const std::string weight = config_.tied_embeddings ? "embedding.weight" : "head.weight";
  const ParamId param_id = param({.name = weight,
                                  .shape = {config_.vocab, config_.hidden},
                                  .decay = true,
                                  .model_wide = true});
  const double gemm = 2.0 * static_cast<double>(shape_.tokens()) *
                      static_cast<double>(config_.vocab * config_.hidden);
  add_op({.kind = OpKind::kHeadLoss,
          .name = "head.loss",
          .attributes = HeadLossAttributes{head_chunk_tokens(shape_.tokens(), config_.vocab)},
          .reads = {x},
          .params = {param_id},
          .backward_reads = {x},
          .gradient_reuse = Op::GradientReuse{.from = 0, .read = 0},
          .forward_flops = Flops(gemm),
          .backward_flops = Flops(2 * gemm)});
}

LayerGraph build_embedding(const ModelConfig& config, const RunShape& shape) {
  BlockBuilder block(config, shape);
  const TensorId x = block.embedding();
  return block.finish(block.dropout("embedding.dropout", x));
}

/// The input of core attention: {qkv}, or {q, k, v} where q and k are normalised first.
std::vector<TensorId> project_q_k_v(BlockBuilder& block, const ModelConfig& config,
                                    const RunShape& shape, TensorId x) {
  const int64_t q = config.num_heads;
  const int64_t kv = config.num_kv_heads;
  const bool rotates = config.position == config::PositionKind::kRope;
  const auto project = [&](const std::string& name, const std::string& output, int64_t heads) {
    return block.linear(name + "_proj", output, x, {shape.tokens(), heads, config.head_dim},
                        config.qkv_bias, kInitStd);
  };
  if (!config.qk_norm) {
    const TensorId qkv =
        project("attn.qkv", rotates ? "attn.qkv.unrotated" : "attn.qkv", q + 2 * kv);
    return {block.rope("attn.qkv", qkv, q + kv)};
  }
  const auto project_normed = [&](const std::string& name, int64_t heads) {
    const TensorId raw = project(name, name + ".raw", heads);
    return block.rope(name, block.norm(name + ".norm", raw, config::NormKind::kRmsNorm), heads);
  };
  const TensorId normed_q = project_normed("attn.q", q);
  const TensorId normed_k = project_normed("attn.k", kv);
  return {normed_q, normed_k, project("attn.v", "attn.v", kv)};
}

TensorId build_attention(BlockBuilder& block, const ModelConfig& config, const RunShape& shape,
                         TensorId x) {
  block.enter(Module::kNone, {Label::kLayernorm, Label::kPointwise});
  const TensorId in = block.norm("attn.norm", x, config.norm);
  block.enter(Module::kAttention);
  const std::vector<TensorId> q_k_v = project_q_k_v(block, config, shape, in);
  block.enter(Module::kAttention, {Label::kCoreAttn});
  const TensorId context = block.attention(q_k_v);
  block.enter(Module::kAttention);
  const TensorId out =
      block.linear("attn.out_proj", "attn.out", context, {shape.tokens(), config.hidden},
                   config.linear_bias, residual_init_std(config));
  block.enter(Module::kNone);
  return block.add("middle", x, out);
}

TensorId build_mlp(BlockBuilder& block, const ModelConfig& config, const RunShape& shape,
                   TensorId x) {
  block.enter(Module::kNone, {Label::kLayernorm, Label::kPointwise});
  const TensorId in = block.norm("mlp.norm", x, config.norm);
  block.enter(Module::kMlp, {Label::kMlp});
  const bool gated = config.activation == config::ActivationKind::kSwiglu;
  const TensorId up = block.linear("mlp.up_proj", gated ? "mlp.gate_up" : "mlp.up", in,
                                   {shape.tokens(), (gated ? 2 : 1) * config.ffn_hidden},
                                   config.linear_bias, kInitStd);
  const TensorId out =
      block.linear("mlp.down_proj", "mlp.out", block.activation(up),
                   {shape.tokens(), config.hidden}, config.linear_bias, residual_init_std(config));
  block.enter(Module::kNone);
  return block.add("output", x, out);
}

LayerGraph build_layer(const ModelConfig& config, const RunShape& shape) {
  BlockBuilder block(config, shape);
  const TensorId middle = build_attention(block, config, shape, block.input());
  return block.finish(build_mlp(block, config, shape, middle));
}

LayerGraph build_head(const ModelConfig& config, const RunShape& shape) {
  BlockBuilder block(config, shape);
  block.head_loss(block.norm("head.norm", block.input(), config.norm));
  return block.finish(std::nullopt);
}

}  // namespace

ModelGraph build_dense(const ModelConfig& config, const RunShape& shape) {
  ModelGraph model;
  model.graphs = {build_embedding(config, shape), build_layer(config, shape),
                  build_head(config, shape)};
  model.blocks.push_back({.graph = 0, .layer = {}});
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    model.blocks.push_back({.graph = 1, .layer = layer});
  }
  model.blocks.push_back({.graph = 2, .layer = {}});
  model.batch_shape = {shape.micro_batch, shape.seq};
  model.compute = compute_dtype(shape.precision);
  model.masters = shape.precision == config::Precision::kBf16;
  return model;
}

}  // namespace refrain::model
