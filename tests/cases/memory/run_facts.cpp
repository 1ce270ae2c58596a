#include "run_facts.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>

namespace refrain::cases {
namespace {

using nlohmann::json;

/// Reads members of one object and checks at the end that none was left over.
class Reader {
 public:
  Reader(const json& object, const char* name)
      : object_(object.contains(name) ? object.at(name) : json::object()), name_(name) {}

  template <class T>
  Reader& read(const char* key, T& value) {
    known_.insert(key);
    if (object_.contains(key)) object_.at(key).get_to(value);
    return *this;
  }

  template <class Enum>
  Reader& read(const char* key, Enum& value, const std::map<std::string, Enum>& words) {
    std::string word;
    read(key, word);
    if (!word.empty()) value = words.at(word);
    return *this;
  }

  void end() const {
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key)) throw std::runtime_error(fmt::format("no {}.{}", name_, key));
    }
  }

 private:
  json object_;
  std::string name_;
  std::set<std::string> known_;
};

/// [[count, mixer, feed-forward], ...]
std::vector<mcore::LayerKind> layers_of(const json& runs) {
  using mcore::FeedForward;
  using mcore::Mixer;
  static const std::map<std::string, Mixer> kMixers = {{"none", Mixer::kNone},
                                                       {"attention", Mixer::kAttention},
                                                       {"latent", Mixer::kLatentAttention},
                                                       {"linear", Mixer::kLinearAttention},
                                                       {"mamba", Mixer::kMamba}};
  static const std::map<std::string, FeedForward> kFeedForwards = {
      {"none", FeedForward::kNone},
      {"dense", FeedForward::kDense},
      {"experts", FeedForward::kExperts}};
  std::vector<mcore::LayerKind> layers;
  for (const json& run : runs) {
    layers.insert(layers.end(), run.at(0).get<size_t>(),
                  {.mixer = kMixers.at(run.at(1)), .feed_forward = kFeedForwards.at(run.at(2))});
  }
  return layers;
}

void read_mixers(const json& facts, mcore::Model& model) {
  Reader(facts, "attention")
      .read("num_heads", model.attention.num_heads)
      .read("num_query_groups", model.attention.num_query_groups)
      .read("head_dim", model.attention.head_dim)
      .read("qk_norm", model.attention.qk_norm)
      .read("output_gate", model.attention.output_gate)
      .read("q_lora_rank", model.attention.q_lora_rank)
      .read("kv_lora_rank", model.attention.kv_lora_rank)
      .read("qk_nope_dim", model.attention.qk_nope_dim)
      .read("qk_rope_dim", model.attention.qk_rope_dim)
      .read("v_dim", model.attention.v_dim)
      .end();
  Reader(facts, "state")
      .read("num_key_heads", model.state.num_key_heads)
      .read("num_value_heads", model.state.num_value_heads)
      .read("key_dim", model.state.key_dim)
      .read("value_dim", model.state.value_dim)
      .read("num_heads", model.state.num_heads)
      .read("head_dim", model.state.head_dim)
      .read("state_dim", model.state.state_dim)
      .read("num_groups", model.state.num_groups)
      .end();
}

mcore::Model model_of(const json& facts) {
  mcore::Model model;
  json layers = json::array();
  Reader reader(facts, "model");
  reader.read("layers", layers).read("mtp_layers", model.mtp_layers);
  reader.read("encoder_layers", model.encoder_layers).read("hidden", model.hidden);
  reader.read("ffn", model.ffn).read("vocab", model.vocab);
  reader.read("vocab_divisible_by", model.vocab_divisible_by);
  reader.read("max_positions", model.max_positions).read("gated", model.gated);
  reader.read("rms_norm", model.rms_norm).read("linear_bias", model.linear_bias);
  reader.read("qkv_bias", model.qkv_bias).read("tied_embeddings", model.tied_embeddings);
  reader.read("attention_dropout", model.attention_dropout);
  reader.read("hidden_dropout", model.hidden_dropout);
  reader.read("family", model.family,
              {{"decoder", mcore::Family::kDecoder},
               {"bert", mcore::Family::kBert},
               {"t5", mcore::Family::kT5}});
  using Positions = mcore::Model::Positions;
  reader.read(
      "positions", model.positions,
      {{"learned", Positions::kLearned}, {"rope", Positions::kRope}, {"none", Positions::kNone}});
  reader.end();
  model.layers = layers_of(layers);
  read_mixers(facts, model);
  Reader(facts, "experts")
      .read("num_experts", model.experts.num_experts)
      .read("topk", model.experts.topk)
      .read("ffn", model.experts.ffn)
      .read("shared_ffn", model.experts.shared_ffn)
      .read("latent_dim", model.experts.latent_dim)
      .read("grouped_gemm", model.experts.grouped_gemm)
      .read("router_fp32", model.experts.router_fp32)
      .read("dispatcher", model.experts.dispatcher)
      .end();
  return model;
}

mcore::Parallel parallel_of(const json& facts) {
  mcore::Parallel parallel;
  Reader(facts, "parallel")
      .read("num_gpus", parallel.num_gpus)
      .read("tensor", parallel.tensor)
      .read("pipeline", parallel.pipeline)
      .read("virtual_stages", parallel.virtual_stages)
      .read("context", parallel.context)
      .read("expert", parallel.expert)
      .read("expert_tensor", parallel.expert_tensor)
      .read("sequence", parallel.sequence)
      .read("group_size", parallel.group_size)
      .read("layout", parallel.layout)
      .read("embedding_counts", parallel.embedding_counts)
      .read("loss_counts", parallel.loss_counts)
      .read("overlaps_warmup", parallel.overlaps_warmup)
      .read("data", parallel.data)
      .end();
  return parallel;
}

mcore::Numerics numerics_of(const json& facts) {
  using mcore::LowPrecision;
  mcore::Numerics numerics;
  Reader(facts, "numerics")
      .read("params", numerics.params,
            {{"f32", mcore::Precision::kF32},
             {"f16", mcore::Precision::kF16},
             {"bf16", mcore::Precision::kBf16}})
      .read("gemms", numerics.gemms,
            {{"none", LowPrecision::kNone},
             {"fp8_delayed", LowPrecision::kFp8Delayed},
             {"fp8_current", LowPrecision::kFp8Current},
             {"fp8_blockwise", LowPrecision::kFp8Blockwise},
             {"mxfp8", LowPrecision::kMxfp8},
             {"nvfp4", LowPrecision::kNvfp4}})
      .read("low_precision_params", numerics.low_precision_params)
      .read("gradient_bytes", numerics.gradient_bytes)
      .read("gradient_fusion", numerics.gradient_fusion)
      .read("softmax_fp32", numerics.softmax_fp32)
      .end();
  return numerics;
}

mcore::Optimizer optimizer_of(const json& facts) {
  mcore::Optimizer optimizer;
  Reader(facts, "optimizer")
      .read("name", optimizer.name)
      .read("distributed", optimizer.distributed)
      .read("instances", optimizer.instances)
      .read("overlap_grad_reduce", optimizer.overlap_grad_reduce)
      .read("overlap_param_gather", optimizer.overlap_param_gather)
      .read("pad_buckets", optimizer.pad_buckets)
      .read("fsdp", optimizer.fsdp)
      .read("offload_fraction", optimizer.offload_fraction)
      .read("precision_aware", optimizer.precision_aware)
      .read("main_param_bytes", optimizer.main_param_bytes)
      .read("moment_bytes", optimizer.moment_bytes)
      .end();
  return optimizer;
}

mcore::Recompute recompute_of(const json& facts) {
  using Method = mcore::Recompute::Method;
  mcore::Recompute recompute;
  Reader(facts, "recompute")
      .read("method", recompute.method,
            {{"none", Method::kNone},
             {"selective", Method::kSelective},
             {"uniform", Method::kUniform},
             {"block", Method::kBlock}})
      .read("num_layers", recompute.num_layers)
      .read("labels", recompute.labels)
      .end();
  return recompute;
}

mcore::Place place_of(const json& facts) {
  mcore::Place place;
  Reader(facts, "place")
      .read("compute_capability", place.compute_capability)
      .read("transformer_engine", place.transformer_engine)
      .read("attention", place.attention,
            {{"unfused", mcore::AttentionKernel::kUnfused},
             {"flash", mcore::AttentionKernel::kFlash},
             {"cudnn", mcore::AttentionKernel::kCudnn}})
      .read("head_loss", place.head_loss,
            {{"unfused", mcore::HeadLoss::kUnfused},
             {"native", mcore::HeadLoss::kNative},
             {"te", mcore::HeadLoss::kTransformerEngine}})
      .read("deterministic", place.deterministic)
      .read("cublas_32mib", place.cublas_32mib)
      .read("graphs", place.graphs)
      .read("tp_overlap", place.tp_overlap)
      .read("ep_overlap", place.ep_overlap)
      .read("offloads_activations", place.offloads_activations)
      .read("deferred_head_gradients", place.deferred_head_gradients)
      .read("old_recording", place.old_recording)
      .read("lts", place.lts)
      .read("resumed", place.resumed)
      .end();
  return place;
}

}  // namespace

mcore::Run run_of(const json& facts) {
  mcore::Run run;
  run.model = model_of(facts);
  run.parallel = parallel_of(facts);
  Reader(facts, "batch")
      .read("micro", run.batch.micro)
      .read("global", run.batch.global)
      .read("seq", run.batch.seq)
      .read("encoder_seq", run.batch.encoder_seq)
      .read("attention_mask", run.batch.attention_mask)
      .end();
  run.numerics = numerics_of(facts);
  run.optimizer = optimizer_of(facts);
  run.recompute = recompute_of(facts);
  Reader(facts, "offload")
      .read("num_layers", run.offload.num_layers)
      .read("modules", run.offload.modules)
      .read("min_elements", run.offload.min_elements)
      .read("fraction", run.offload.fraction)
      .end();
  run.place = place_of(facts);
  return run;
}

}  // namespace refrain::cases
