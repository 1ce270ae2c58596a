// Whole models against LibTorch's autograd: an independent forward in plain ATen ops, whose
// gradients autograd finds, against the engine's explicit backward.

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <map>
#include <numeric>

#include "engine/executor.h"
#include "engine/memory/counting_allocator.h"
#include "plan/prepare.h"
#include "tiny_models.h"

namespace refrain::exact {
namespace {

using config::ModelConfig;

/// The model as its paper has it, over parameters that record their use.
class Reference {
 public:
  Reference(const ModelConfig& config, const model::ModelParams& params,
            const std::vector<at::Tensor>& weights)
      : config_(config) {
    for (size_t p = 0; p < weights.size(); ++p) {
      const model::ParamSpec& spec = params.specs[p];
      weights_[spec.name] = weights[p].detach().clone().set_requires_grad(spec.trained);
    }
  }

  at::Tensor loss(const at::Tensor& tokens, const at::Tensor& targets) const {
    at::Tensor x = at::embedding(weight("embedding.weight"), tokens);
    if (config_.position == config::PositionKind::kLearned) {
      x = x + weight("positions.weight").slice(0, 0, tokens.size(1));
    }
    for (int64_t l = 0; l < config_.num_layers; ++l) {
      const std::string layer = "layers." + std::to_string(l) + ".";
      x = x + attention(layer, norm(layer + "attn.norm", x));
      x = x + mlp(layer, norm(layer + "mlp.norm", x));
    }
    x = norm("head.norm", x);
    const std::string head = config_.tied_embeddings ? "embedding.weight" : "head.weight";
    const at::Tensor logits = at::linear(x, weight(head));
    return at::cross_entropy_loss(logits.flatten(0, 1), targets.flatten());
  }

  at::Tensor gradient(const std::string& name) const { return weight(name).grad(); }

 private:
  const at::Tensor& weight(const std::string& name) const { return weights_.at(name); }

  at::Tensor norm(const std::string& name, const at::Tensor& x) const {
    if (config_.norm == config::NormKind::kRmsNorm) return rms_norm(name, x);
    return at::layer_norm(x, {x.size(-1)}, weight(name + ".weight"), weight(name + ".bias"),
                          config_.norm_eps);
  }
  at::Tensor rms_norm(const std::string& name, const at::Tensor& x) const {
    return at::rms_norm(x, {x.size(-1)}, weight(name + ".weight"), config_.norm_eps);
  }

  at::Tensor linear(const std::string& name, const at::Tensor& x, bool bias) const {
    return at::linear(x, weight(name + ".weight"),
                      bias ? std::optional(weight(name + ".bias")) : std::nullopt);
  }

  /// [b, s, heads * d] -> [b, heads, s, d], rotated where `rotates`.
  at::Tensor heads(const at::Tensor& x, int64_t num_heads, bool rotates) const {
    at::Tensor y = x.unflatten(-1, {num_heads, config_.head_dim}).transpose(1, 2);
    if (!rotates || config_.position != config::PositionKind::kRope) return y;
    const at::Tensor& table = weight("rope.table");
    const auto halves = y.chunk(2, -1);
    return at::cat(
        {halves[0] * table[0] - halves[1] * table[1], halves[1] * table[0] + halves[0] * table[1]},
        -1);
  }

  at::Tensor attention(const std::string& layer, const at::Tensor& x) const {
    const int64_t d = config_.head_dim;
    const int64_t q_width = config_.num_heads * d;
    const int64_t kv_width = config_.num_kv_heads * d;
    at::Tensor q, k, v;
    if (config_.qk_norm) {
      const auto normed = [&](const std::string& name, int64_t num_heads) {
        const at::Tensor raw = linear(layer + name + "_proj", x, config_.qkv_bias);
        return rms_norm(layer + name + ".norm", raw.unflatten(-1, {num_heads, d})).flatten(-2);
      };
      q = normed("attn.q", config_.num_heads);
      k = normed("attn.k", config_.num_kv_heads);
      v = linear(layer + "attn.v_proj", x, config_.qkv_bias);
    } else {
      const auto parts = linear(layer + "attn.qkv_proj", x, config_.qkv_bias)
                             .split_with_sizes({q_width, kv_width, kv_width}, -1);
      std::tie(q, k, v) = std::tuple(parts[0], parts[1], parts[2]);
    }
    const int64_t group = config_.num_heads / config_.num_kv_heads;
    q = heads(q, config_.num_heads, true);
    k = heads(k, config_.num_kv_heads, true).repeat_interleave(group, 1);
    v = heads(v, config_.num_kv_heads, false).repeat_interleave(group, 1);
    at::Tensor scores = q.matmul(k.transpose(-1, -2)) / std::sqrt(static_cast<double>(d));
    const at::Tensor future =
        at::ones({x.size(1), x.size(1)}, at::TensorOptions(at::kBool)).triu(1);
    scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
    const at::Tensor out = at::softmax(scores, -1).matmul(v).transpose(1, 2).flatten(-2);
    return linear(layer + "attn.out_proj", out, config_.linear_bias);
  }

  at::Tensor mlp(const std::string& layer, const at::Tensor& x) const {
    at::Tensor y = linear(layer + "mlp.up_proj", x, config_.linear_bias);
    switch (config_.activation) {
      case config::ActivationKind::kSwiglu: {
        const auto halves = y.chunk(2, -1);
        y = at::silu(halves[0]) * halves[1];
        break;
      }
      case config::ActivationKind::kGeluTanh:
        y = at::gelu(y, "tanh");
        break;
      case config::ActivationKind::kGeluErf:
        y = at::gelu(y);
        break;
    }
    return linear(layer + "mlp.down_proj", y, config_.linear_bias);
  }

  const ModelConfig& config_;
  std::map<std::string, at::Tensor> weights_;
};

/// With beta1 = 0 the first moment after a step is the gradient.
struct Engine {
  plan::PreparedStep step;
  engine::Weights weights;
  double loss;
};
Engine run_engine(const ModelConfig& model, const config::RunShape& shape,
                  std::vector<int32_t> tokens, std::vector<int32_t> targets) {
  engine::install_counting_allocator();
  at::set_num_threads(static_cast<int>(shape.threads));
  Engine run{.step = plan::prepare(model, shape, {}, config::ReplayPolicy::kDemand)};
  run.weights = engine::init_weights(run.step.program, 11);
  const auto batch = [&](int64_t, std::span<int32_t> t, std::span<int32_t> y) {
    std::copy(tokens.begin(), tokens.end(), t.begin());
    std::copy(targets.begin(), targets.end(), y.begin());
  };
  run.loss = engine::Executor(run.step.graph, run.step.program, run.weights)
                 .run(batch, {.adamw = {.lr = 0, .beta1 = 0, .weight_decay = 0}})
                 .loss;
  return run;
}

std::vector<int32_t> numbers(int64_t count, int64_t vocab, int64_t stride) {
  std::vector<int32_t> list(count);
  for (int64_t i = 0; i < count; ++i) list[i] = static_cast<int32_t>((i * stride + 3) % vocab);
  return list;
}

void expect_autograds_gradients(const ModelConfig& model, const config::RunShape& shape,
                                double tolerance) {
  const int64_t count = shape.tokens();
  const std::vector<int32_t> tokens = numbers(count, model.vocab, 7);
  const std::vector<int32_t> targets = numbers(count, model.vocab, 5);
  const Engine run = run_engine(model, shape, tokens, targets);
  const auto as_tensor = [&](const std::vector<int32_t>& list) {
    return at::from_blob(const_cast<int32_t*>(list.data()), {shape.micro_batch, shape.seq},
                         at::TensorOptions(at::kInt))
        .to(at::kLong);
  };
  const model::ModelParams& params = run.step.program.params;
  const Reference reference(model, params, run.weights.weight);
  const at::Tensor loss = reference.loss(as_tensor(tokens), as_tensor(targets));
  torch::autograd::backward({loss}, {});
  EXPECT_NEAR(run.loss, loss.item<double>(), tolerance);
  for (size_t p = 0; p < params.specs.size(); ++p) {
    if (!params.specs[p].trained) continue;
    const at::Tensor& expected = reference.gradient(params.specs[p].name);
    const double scale = expected.abs().max().item<double>();
    const double error = (run.weights.first_moment[p] - expected).abs().max().item<double>();
    EXPECT_LE(error, tolerance * std::max(scale, 1e-3)) << params.specs[p].name;
    EXPECT_GT(scale, 0) << params.specs[p].name;
  }
}

TEST(WholeModel, GradientsAreAutogradsInFloat64) {
  for (const ModelConfig& model : tiny_models()) {
    for (config::AttentionBackend attention :
         {config::AttentionBackend::kFused, config::AttentionBackend::kUnfused}) {
      SCOPED_TRACE(model.name);
      expect_autograds_gradients(model,
                                 {.micro_batch = 2,
                                  .seq = 13,
                                  .precision = config::Precision::kF64,
                                  .attention = attention,
                                  .threads = 2},
                                 1e-9);
    }
  }
}

TEST(WholeModel, GradientsAreAutogradsInFloat32) {
  for (const ModelConfig& model : tiny_models()) {
    SCOPED_TRACE(model.name);
    expect_autograds_gradients(model, {.micro_batch = 3, .seq = 17}, 2e-4);
  }
}

TEST(WholeModel, GradientsAreAutogradsForOneSequenceOneHeadAndLongerRowBlocks) {
  ModelConfig model = tiny_llama();
  model.num_heads = model.num_kv_heads = 1;
  model.max_positions = 200;
  expect_autograds_gradients(
      model, {.micro_batch = 1, .seq = 151, .precision = config::Precision::kF64}, 1e-9);
}

}  // namespace
}  // namespace refrain::exact
