#include "mcore/memory/state/parameters.h"

#include <algorithm>

namespace refrain::mcore::memory {
namespace {

/// Collects parameters, with the switches of the run that most modules look at.
class Builder {
 public:
  explicit Builder(const Run& run) : run_(run), tensor_(run.parallel.tensor) {}

  std::vector<Parameter> take() { return std::move(parameters_); }

  void attention();
  void cross_attention();
  void latent_attention();
  void linear_attention();
  void mamba();
  void dense();
  void experts();

  void norm(int64_t width) {
    plain(width);
    if (!run_.model.rms_norm) plain(width);
  }
  void plain(int64_t elements) { parameters_.push_back({.elements = elements}); }
  void weight(int64_t in, int64_t out) {
    parameters_.push_back({.elements = in * out, .quantized = true});
  }
  void embedding(bool shared) {
    parameters_.push_back(
        {.elements = padded_vocab(run_) / tensor_ * run_.model.hidden, .shared_embedding = shared});
  }

 private:
  void bias(int64_t elements) {
    if (run_.model.linear_bias) plain(elements);
  }
  /// The norm of TransformerEngine's LayerNormLinear comes before its weight; the local spec builds
  /// norms before the attention or MLP module.
  void own_norm() {
    if (!run_.place.transformer_engine) norm(run_.model.hidden);
  }
  void fused_norm() {
    if (run_.place.transformer_engine) norm(run_.model.hidden);
  }
  void expert_linear(int64_t in, int64_t out, int64_t bias_elements);
  void mlp(int64_t width);

  const Run& run_;
  int64_t tensor_;
  std::vector<Parameter> parameters_;
};

void Builder::attention() {
  const Model& model = run_.model;
  const AttentionSize& size = model.attention;
  const int64_t query = size.num_heads * size.head_dim / tensor_;
  const int64_t key = size.num_query_groups * size.head_dim / tensor_;
  const int64_t mixed = query * (size.output_gate ? 2 : 1) + 2 * key;
  own_norm();
  weight(query, model.hidden);
  bias(model.hidden);
  fused_norm();
  weight(model.hidden, mixed);
  if (model.linear_bias || model.qkv_bias) plain(mixed);
  if (size.qk_norm) {
    norm(size.head_dim);
    norm(size.head_dim);
  }
}

void Builder::cross_attention() {
  const int64_t hidden = run_.model.hidden;
  norm(hidden);
  weight(hidden, hidden / tensor_);
  bias(hidden);
  weight(hidden, hidden / tensor_);
  bias(hidden / tensor_);
  weight(hidden, 2 * hidden / tensor_);
  bias(2 * hidden / tensor_);
}

void Builder::latent_attention() {
  const int64_t hidden = run_.model.hidden;
  const AttentionSize& size = run_.model.attention;
  const int64_t heads = size.num_heads / tensor_;
  const int64_t query = heads * (size.qk_nope_dim + size.qk_rope_dim);
  const auto latent_norm = [&](int64_t width) {
    if (size.qk_norm) norm(width);
  };
  norm(hidden);
  weight(heads * size.v_dim, hidden);
  if (size.q_lora_rank > 0) {
    weight(hidden, size.q_lora_rank);
    latent_norm(size.q_lora_rank);
    weight(size.q_lora_rank, query);
  } else {
    weight(hidden, query);
  }
  weight(hidden, size.kv_lora_rank + size.qk_rope_dim);
  latent_norm(size.kv_lora_rank);
  weight(size.kv_lora_rank, heads * (size.qk_nope_dim + size.v_dim));
}

void Builder::linear_attention() {
  const int64_t hidden = run_.model.hidden;
  const StateSize& size = run_.model.state;
  const int64_t keys = size.num_key_heads * size.key_dim / tensor_;
  const int64_t values = size.num_value_heads * size.value_dim / tensor_;
  const int64_t heads = size.num_value_heads / tensor_;
  fused_norm();
  own_norm();
  weight(hidden, 2 * keys + 2 * values + 2 * heads);
  plain((2 * keys + values) * size.conv_kernel);
  plain(heads);
  plain(heads);
  plain(size.value_dim);
  weight(values, hidden);
}

void Builder::mamba() {
  const int64_t hidden = run_.model.hidden;
  const StateSize& size = run_.model.state;
  const int64_t heads = size.num_heads / tensor_;
  const int64_t inner = heads * size.head_dim;
  const int64_t states = size.num_groups * size.state_dim / tensor_;
  fused_norm();
  own_norm();
  weight(hidden, 2 * inner + 2 * states + heads);
  plain((inner + 2 * states) * size.conv_kernel);
  plain(inner + 2 * states);
  for (int i = 0; i < 3; ++i) plain(heads);  // dt bias, A, D
  plain(inner);
  weight(inner, hidden);
}

void Builder::mlp(int64_t width) {
  const int64_t hidden = run_.model.hidden;
  const int64_t first = width / tensor_ * (run_.model.gated ? 2 : 1);
  norm(hidden);
  weight(hidden, first);
  bias(first);
  weight(width / tensor_, hidden);
  bias(hidden);
}

void Builder::dense() { mlp(run_.model.ffn); }

void Builder::expert_linear(int64_t in, int64_t out, int64_t bias_elements) {
  const bool expert = run_.parallel.expert > 1;
  parameters_.push_back({.elements = in * out, .expert = expert, .quantized = true});
  if (run_.model.linear_bias) {
    parameters_.push_back({.elements = bias_elements, .expert = expert});
  }
}

void Builder::experts() {
  const Model& model = run_.model;
  const ExpertSize& size = model.experts;
  const int64_t input = size.latent_dim > 0 ? size.latent_dim : model.hidden;
  const int64_t width = size.ffn / run_.parallel.expert_tensor;
  const int64_t first = width * (model.gated ? 2 : 1);
  const int64_t local = size.num_experts / run_.parallel.expert;
  norm(model.hidden);
  plain(size.num_experts * model.hidden);
  if (size.latent_dim > 0) {
    weight(model.hidden, input);
    weight(input, model.hidden);
  }
  if (size.grouped_gemm) {
    for (int64_t i = 0; i < local; ++i) expert_linear(input, first, first);
    for (int64_t i = 0; i < local; ++i) expert_linear(width, input, input);
  } else {
    for (int64_t i = 0; i < local; ++i) {
      expert_linear(input, first, first);
      expert_linear(width, input, input);
    }
  }
  if (size.shared_ffn > 0) {
    weight(model.hidden, size.shared_ffn / tensor_ * (model.gated ? 2 : 1));
    weight(size.shared_ffn / tensor_, model.hidden);
  }
}

void add_layer(Builder& builder, const LayerKind& kind) {
  switch (kind.mixer) {
    case Mixer::kNone:
      break;
    case Mixer::kAttention:
      builder.attention();
      break;
    case Mixer::kLatentAttention:
      builder.latent_attention();
      break;
    case Mixer::kLinearAttention:
      builder.linear_attention();
      break;
    case Mixer::kMamba:
      builder.mamba();
      break;
  }
  if (kind.feed_forward == FeedForward::kDense) builder.dense();
  if (kind.feed_forward == FeedForward::kExperts) builder.experts();
}

/// Encoder and decoder on one rank; the embedding serves both and the output, which has a bias.
std::vector<Parameter> t5_parameters(const Run& run) {
  Builder builder(run);
  builder.embedding(false);
  builder.plain(run.model.max_positions * run.model.hidden);
  for (int64_t i = 0; i < run.model.encoder_layers; ++i) add_layer(builder, LayerKind{});
  builder.norm(run.model.hidden);
  for (const LayerKind& kind : run.model.layers) {
    add_layer(builder, kind);
    builder.cross_attention();
  }
  builder.norm(run.model.hidden);
  builder.plain(padded_vocab(run) / run.parallel.tensor);
  return builder.take();
}

void add_embedding(Builder& builder, const Run& run) {
  const Model& model = run.model;
  builder.embedding(model.tied_embeddings && run.parallel.pipeline > 1);
  if (model.family == Family::kBert) builder.plain(2 * model.hidden);  // token types
  if (model.positions == Model::Positions::kLearned) {
    builder.plain(model.max_positions * model.hidden);
  }
}

void add_multi_token(Builder& builder, const Run& run) {
  const int64_t hidden = run.model.hidden;
  for (int64_t depth = 0; depth < run.model.mtp_layers; ++depth) {
    builder.norm(hidden);
    builder.norm(hidden);
    builder.weight(2 * hidden, hidden / run.parallel.tensor);
    add_layer(builder, multi_token_kind(run));
    builder.norm(hidden);
  }
}

/// BERT's transform before the logits, the logits' bias, the sentence-order head and the pooler.
void add_bert_heads(Builder& builder, const Run& run) {
  const int64_t hidden = run.model.hidden;
  const int64_t sizes[] = {
      hidden * hidden, hidden, hidden,          hidden, padded_vocab(run) / run.parallel.tensor,
      2 * hidden,      2,      hidden * hidden, hidden};
  for (const int64_t elements : sizes) builder.plain(elements);
}

}  // namespace

bool is_first_chunk(const Run&, int64_t rank, int64_t virtual_stage) {
  return rank == 0 && virtual_stage == 0;
}

bool is_last_chunk(const Run& run, int64_t rank, int64_t virtual_stage) {
  return rank == run.parallel.pipeline - 1 && virtual_stage == run.parallel.virtual_stages - 1;
}

LayerKind multi_token_kind(const Run& run) {
  return run.model.layers.empty() ? LayerKind{} : run.model.layers.back();
}

std::vector<Parameter> layer_parameters(const Run& run, const LayerKind& kind) {
  Builder builder(run);
  add_layer(builder, kind);
  return builder.take();
}

std::vector<Parameter> chunk_parameters(const Run& run, int64_t rank, int64_t virtual_stage) {
  if (run.model.family == Family::kT5) return t5_parameters(run);
  const bool first = is_first_chunk(run, rank, virtual_stage);
  const bool last = is_last_chunk(run, rank, virtual_stage);
  const StageLayers stage = stage_layers(run, rank, virtual_stage);
  Builder builder(run);
  if (first) {
    add_embedding(builder, run);
  } else if (last && run.model.mtp_layers > 0) {
    builder.embedding(run.model.tied_embeddings);
  }
  for (int64_t i = 0; i < stage.count; ++i) {
    add_layer(builder, run.model.layers[stage.first + i]);
  }
  if (last) {
    builder.norm(run.model.hidden);
    add_multi_token(builder, run);
    if (run.model.family == Family::kBert) add_bert_heads(builder, run);
    const bool has_embedding = first || run.model.mtp_layers > 0;
    if (!run.model.tied_embeddings || !has_embedding) {
      builder.embedding(run.model.tied_embeddings);
    }
  }
  return builder.take();
}

int64_t num_elements(const std::vector<Parameter>& parameters) {
  int64_t elements = 0;
  for (const Parameter& parameter : parameters) elements += parameter.elements;
  return elements;
}

}  // namespace refrain::mcore::memory
