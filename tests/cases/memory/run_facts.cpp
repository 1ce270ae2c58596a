#include "run_facts.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

// The members of mcore::Run that a fact can name, and the words of its enumerations.
namespace refrain::mcore {

NLOHMANN_JSON_SERIALIZE_ENUM(Mixer, {{Mixer::kNone, "none"},
                                     {Mixer::kAttention, "attention"},
                                     {Mixer::kLatentAttention, "latent"},
                                     {Mixer::kLinearAttention, "linear"},
                                     {Mixer::kMamba, "mamba"}})
NLOHMANN_JSON_SERIALIZE_ENUM(FeedForward, {{FeedForward::kNone, "none"},
                                           {FeedForward::kDense, "dense"},
                                           {FeedForward::kExperts, "experts"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Family, {{Family::kDecoder, "decoder"},
                                      {Family::kBert, "bert"},
                                      {Family::kT5, "t5"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Model::Positions, {{Model::Positions::kLearned, "learned"},
                                                {Model::Positions::kRope, "rope"},
                                                {Model::Positions::kNone, "none"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Precision, {{Precision::kF32, "f32"},
                                         {Precision::kF16, "f16"},
                                         {Precision::kBf16, "bf16"}})
NLOHMANN_JSON_SERIALIZE_ENUM(LowPrecision, {{LowPrecision::kNone, "none"},
                                            {LowPrecision::kFp8Delayed, "fp8_delayed"},
                                            {LowPrecision::kFp8Current, "fp8_current"},
                                            {LowPrecision::kFp8Blockwise, "fp8_blockwise"},
                                            {LowPrecision::kMxfp8, "mxfp8"},
                                            {LowPrecision::kNvfp4, "nvfp4"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Recompute::Method, {{Recompute::Method::kNone, "none"},
                                                 {Recompute::Method::kSelective, "selective"},
                                                 {Recompute::Method::kUniform, "uniform"},
                                                 {Recompute::Method::kBlock, "block"}})
NLOHMANN_JSON_SERIALIZE_ENUM(AttentionKernel, {{AttentionKernel::kUnfused, "unfused"},
                                               {AttentionKernel::kFlash, "flash"},
                                               {AttentionKernel::kCudnn, "cudnn"}})
NLOHMANN_JSON_SERIALIZE_ENUM(HeadLoss, {{HeadLoss::kUnfused, "unfused"},
                                        {HeadLoss::kNative, "native"},
                                        {HeadLoss::kTransformerEngine, "te"}})

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(AttentionSize, num_heads, num_query_groups,
                                                head_dim, qk_norm, output_gate, q_lora_rank,
                                                kv_lora_rank, qk_nope_dim, qk_rope_dim, v_dim)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(StateSize, num_key_heads, num_value_heads, key_dim,
                                                value_dim, num_heads, head_dim, state_dim,
                                                num_groups)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ExpertSize, num_experts, topk, ffn, shared_ffn,
                                                latent_dim, grouped_gemm, router_fp32, dispatcher)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Model, family, mtp_layers, encoder_layers, hidden,
                                                ffn, vocab, vocab_divisible_by, max_positions,
                                                gated, rms_norm, linear_bias, qkv_bias,
                                                tied_embeddings, positions, attention_dropout,
                                                hidden_dropout)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Parallel, num_gpus, tensor, pipeline,
                                                virtual_stages, context, expert, expert_tensor,
                                                sequence, group_size, layout, embedding_counts,
                                                loss_counts, overlaps_warmup, data)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Batch, micro, global, seq, encoder_seq,
                                                attention_mask)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Numerics, params, gemms, low_precision_params,
                                                gradient_bytes, gradient_fusion, softmax_fp32)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Optimizer, name, distributed, instances,
                                                overlap_grad_reduce, overlap_param_gather,
                                                pad_buckets, fsdp, offload_fraction,
                                                precision_aware, main_param_bytes, moment_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Recompute, method, num_layers, labels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Offload, num_layers, modules, min_elements,
                                                fraction)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Place, compute_capability, transformer_engine,
                                                attention, head_loss, deterministic, cublas_32mib,
                                                graphs, tp_overlap, ep_overlap,
                                                offloads_activations, deferred_head_gradients,
                                                old_recording, lts, resumed)

}  // namespace refrain::mcore

namespace refrain::cases {
namespace {

using nlohmann::json;

/// An object's members; what it does not name has the default. A word that nobody knows is read as
/// another one, so words are held against what was read.
template <class T>
T facts_of(const json& given, const char* name) {
  T facts = given.get<T>();
  const json known = facts;
  for (const auto& [key, value] : given.items()) {
    if (known.contains(key) && (!value.is_string() || known[key] == value)) continue;
    throw std::runtime_error(fmt::format("no {}.{} {}", name, key, value.dump()));
  }
  return facts;
}

json object_in(const json& facts, const char* name) { return facts.value(name, json::object()); }

template <class T>
T read(const json& facts, const char* name) {
  return facts_of<T>(object_in(facts, name), name);
}

template <class Enum>
Enum word_of(const json& word) {
  const Enum value = word.get<Enum>();
  if (json(value) != word) throw std::runtime_error(fmt::format("no layer {}", word.dump()));
  return value;
}

/// [[count, mixer, feed-forward], ...]
std::vector<mcore::LayerKind> layers_of(const json& runs) {
  std::vector<mcore::LayerKind> layers;
  for (const json& run : runs) {
    layers.insert(layers.end(), run.at(0).get<size_t>(),
                  {.mixer = word_of<mcore::Mixer>(run.at(1)),
                   .feed_forward = word_of<mcore::FeedForward>(run.at(2))});
  }
  return layers;
}

mcore::Model model_of(const json& facts) {
  json given = object_in(facts, "model");
  const json layers = given.value("layers", json::array());
  given.erase("layers");
  auto model = facts_of<mcore::Model>(given, "model");
  model.layers = layers_of(layers);
  model.attention = read<mcore::AttentionSize>(facts, "attention");
  model.state = read<mcore::StateSize>(facts, "state");
  model.experts = read<mcore::ExpertSize>(facts, "experts");
  return model;
}

}  // namespace

mcore::Run run_of(const json& facts) {
  mcore::Run run;
  run.model = model_of(facts);
  run.parallel = read<mcore::Parallel>(facts, "parallel");
  run.batch = read<mcore::Batch>(facts, "batch");
  run.numerics = read<mcore::Numerics>(facts, "numerics");
  run.optimizer = read<mcore::Optimizer>(facts, "optimizer");
  run.recompute = read<mcore::Recompute>(facts, "recompute");
  run.offload = read<mcore::Offload>(facts, "offload");
  run.place = read<mcore::Place>(facts, "place");
  return run;
}

}  // namespace refrain::cases
