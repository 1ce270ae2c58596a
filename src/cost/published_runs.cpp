#include "cost/published_runs.h"

#include <map>
#include <utility>

#include "base/error.h"
#include "cost/device/devices.h"

namespace refrain::cost {
namespace {

using mcore::FeedForward;
using mcore::LayerKind;
using mcore::Mixer;
using mcore::Run;

/// bf16 training as Megatron-Bridge's recipes do it; models of today have no dropout.
Run bridge_run() {
  Run run;
  run.batch.seq = 4096;
  run.model.gated = true;
  run.model.tied_embeddings = false;
  run.model.hidden_dropout = run.model.attention_dropout = 0;
  run.model.vocab_divisible_by = 1;
  run.parallel.sequence = true;
  run.optimizer.distributed = true;
  run.optimizer.overlap_grad_reduce = run.optimizer.overlap_param_gather = true;
  return run;
}

void set_gpus(Run& run, int64_t gpus) {
  run.parallel.num_gpus = gpus;
  run.parallel.data = gpus / (run.parallel.tensor * run.parallel.pipeline * run.parallel.context);
}

void set_latent_attention(Run& run, int64_t heads, int64_t q_rank) {
  run.model.attention.num_heads = heads;
  run.model.attention.q_lora_rank = q_rank;
  run.model.attention.kv_lora_rank = 512;
  run.model.attention.qk_nope_dim = run.model.attention.v_dim = 128;
  run.model.attention.qk_rope_dim = 64;
}

void set_layers(Run& run, Mixer mixer, int64_t dense, int64_t experts) {
  run.model.layers.assign(dense, {.mixer = mixer, .feed_forward = FeedForward::kDense});
  run.model.layers.insert(run.model.layers.end(), experts,
                          {.mixer = mixer, .feed_forward = FeedForward::kExperts});
}

Run deepseek_v3_model() {
  Run run = bridge_run();
  set_layers(run, Mixer::kLatentAttention, 3, 58);
  set_latent_attention(run, 128, 1536);
  run.model.hidden = 7168;
  run.model.ffn = 18432;
  run.model.vocab = 129280;
  run.model.mtp_layers = 1;
  run.model.experts = {.num_experts = 256, .topk = 8, .ffn = 2048, .shared_ffn = 2048};
  run.numerics.gemms = mcore::LowPrecision::kMxfp8;
  return run;
}

}  // namespace

DeviceProfile device(const std::string& name) {
  auto found = find_device(name);
  RC_CHECK(found.value.has_value(), "{}", name);
  return *std::move(found.value);
}

Run llama3_70b() {
  Run run = bridge_run();
  set_layers(run, Mixer::kAttention, 80, 0);
  run.model.hidden = 8192;
  run.model.ffn = 28672;
  run.model.vocab = 128256;
  run.model.attention = {.num_heads = 64, .num_query_groups = 8, .head_dim = 128};
  run.parallel.tensor = run.parallel.pipeline = 4;
  run.parallel.virtual_stages = 5;
  set_gpus(run, 32);
  run.batch.global = 32;
  run.numerics.gemms = mcore::LowPrecision::kFp8Current;
  run.place.tp_overlap = true;
  return run;
}

Run moonlight() {
  Run run = bridge_run();
  set_layers(run, Mixer::kLatentAttention, 1, 26);
  set_latent_attention(run, 16, 0);
  run.model.hidden = 2048;
  run.model.ffn = 11264;
  run.model.vocab = 163842;
  run.model.experts = {.num_experts = 64, .topk = 6, .ffn = 1408, .shared_ffn = 2816};
  run.model.experts.dispatcher = "alltoall";
  run.parallel.tensor = 2;
  run.parallel.expert = 8;
  set_gpus(run, 8);
  run.batch.global = 4;
  return run;
}

Run qwen3_30b() {
  Run run = bridge_run();
  set_layers(run, Mixer::kAttention, 0, 48);
  run.model.hidden = 2048;
  run.model.ffn = 6144;
  run.model.vocab = 151936;
  run.model.attention = {.num_heads = 32, .num_query_groups = 4, .head_dim = 128, .qk_norm = true};
  run.model.experts = {.num_experts = 128, .topk = 8, .ffn = 768};
  run.model.experts.dispatcher = "alltoall";
  run.parallel.expert = 16;
  set_gpus(run, 16);
  run.batch.global = 1024;
  return run;
}

Run deepseek_v3() {
  Run run = deepseek_v3_model();
  run.model.experts.dispatcher = "hybridep";
  run.parallel.pipeline = 2;
  run.parallel.virtual_stages = 8;
  run.parallel.expert = 32;
  set_gpus(run, 256);
  run.batch.global = 4096;
  run.place.graphs = {"full_iteration"};
  run.place.ep_overlap = true;
  return run;
}

Run deepseek_v3_early() {
  Run run = deepseek_v3_model();
  run.model.experts.dispatcher = "deepep";
  run.parallel.pipeline = 8;
  run.parallel.virtual_stages = 4;
  run.parallel.expert = 32;
  set_gpus(run, 256);
  run.batch.global = 2048;
  return with_labels(run, {"mlp", "mla_up_proj"});
}

Run gpt_2205(const std::string& size) {
  struct Row {
    int64_t layers, hidden, heads, pipeline, virtual_stages, global, micro;
  };
  static const std::map<std::string, Row> rows = {{"22B", {48, 6144, 64, 1, 1, 4, 4}},
                                                  {"175B", {96, 12288, 96, 8, 3, 64, 1}},
                                                  {"530B", {105, 20480, 128, 35, 3, 280, 1}},
                                                  {"1T", {128, 25600, 160, 64, 1, 512, 1}}};
  const Row& row = rows.at(size);
  Run run = bridge_run();
  set_layers(run, Mixer::kAttention, row.layers, 0);
  run.model.hidden = row.hidden;
  run.model.ffn = 4 * row.hidden;
  run.model.gated = false;
  run.model.vocab = 51200;
  run.model.hidden_dropout = run.model.attention_dropout = 0.1;
  run.model.attention = {
      .num_heads = row.heads, .num_query_groups = row.heads, .head_dim = row.hidden / row.heads};
  run.parallel.tensor = 8;
  run.parallel.pipeline = row.pipeline;
  run.parallel.virtual_stages = row.virtual_stages;
  set_gpus(run, 8 * row.pipeline);
  run.batch = {.micro = row.micro, .global = row.global, .seq = 2048};
  run.place.attention = mcore::AttentionKernel::kUnfused;
  return with_labels(run, {"core_attn"});
}

Run gpt_oss_20b() {
  Run run = bridge_run();
  for (int64_t i = 0; i < 24; ++i) {
    run.model.layers.push_back({.mixer = Mixer::kAttention,
                                .feed_forward = FeedForward::kExperts,
                                .windowed = i % 2 == 0});
  }
  run.model.hidden = run.model.ffn = 2880;
  run.model.vocab = 201088;
  run.model.attention = {.num_heads = 64, .num_query_groups = 8, .head_dim = 64, .window = 128};
  run.model.experts = {.num_experts = 32, .topk = 4, .ffn = 2880};
  run.model.experts.dispatcher = "alltoall";
  run.parallel.tensor = 2;
  run.parallel.pipeline = run.parallel.expert = 4;
  set_gpus(run, 16);
  run.batch.global = 512;
  return run;
}

Run qwen3_next() {
  Run run = bridge_run();
  for (int64_t i = 0; i < 48; ++i) {
    run.model.layers.push_back({.mixer = i % 4 == 3 ? Mixer::kAttention : Mixer::kLinearAttention,
                                .feed_forward = FeedForward::kExperts});
  }
  run.model.hidden = 2048;
  run.model.vocab = 151936;
  run.model.attention = {.num_heads = 16,
                         .num_query_groups = 2,
                         .head_dim = 256,
                         .qk_norm = true,
                         .output_gate = true};
  run.model.state = {.num_key_heads = 16, .num_value_heads = 32, .key_dim = 128, .value_dim = 128};
  run.model.experts = {.num_experts = 512, .topk = 10, .ffn = 512, .shared_ffn = 512};
  run.model.experts.dispatcher = "alltoall";
  run.parallel.pipeline = 4;
  run.parallel.expert = 8;
  set_gpus(run, 32);
  run.batch.global = 1024;
  return run;
}

Run nemotron() {
  Run run = bridge_run();
  const std::map<char, LayerKind> letters = {
      {'M', {.mixer = Mixer::kMamba, .feed_forward = FeedForward::kNone}},
      {'*', {.mixer = Mixer::kAttention, .feed_forward = FeedForward::kNone}},
      {'E', {.mixer = Mixer::kNone, .feed_forward = FeedForward::kExperts}}};
  for (const char letter : std::string("MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME")) {
    run.model.layers.push_back(letters.at(letter));
  }
  run.model.gated = false;
  run.model.mtp_layers = 2;
  run.model.hidden = 2688;
  run.model.vocab = 131072;
  run.model.attention = {.num_heads = 32, .num_query_groups = 2, .head_dim = 128};
  run.model.state = {.num_heads = 64, .head_dim = 64, .state_dim = 128, .num_groups = 8};
  run.model.experts = {.num_experts = 128, .topk = 6, .ffn = 1856, .shared_ffn = 3712};
  run.model.experts.dispatcher = "hybridep";
  run.parallel.expert = 8;
  set_gpus(run, 8);
  run.batch.global = 512;
  return run;
}

Run with_labels(Run run, std::set<std::string> labels) {
  using Method = mcore::Recompute::Method;
  run.recompute = {.method = labels.empty() ? Method::kNone : Method::kSelective,
                   .labels = std::move(labels)};
  return run;
}

Run with_full(Run run) {
  run.recompute = {.method = mcore::Recompute::Method::kUniform};
  return run;
}

}  // namespace refrain::cost
