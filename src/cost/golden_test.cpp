// Steps of tests/cases/time/steps.jsonl: published and random settings, and what an independent
// implementation of the same formulas makes of them.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cost/published_runs.h"
#include "cost/shape/model_size.h"
#include "cost/step_time.h"

namespace refrain::cost {
namespace {

using mcore::FeedForward;
using mcore::LayerKind;
using mcore::Mixer;
using nlohmann::json;

std::set<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::set<std::string> found;
  for (std::string word; stream >> word;) found.insert(word);
  return found;
}

/// "MEM*-": a layer a letter, up to where the prediction depths begin.
std::vector<LayerKind> hybrid_layers(const std::string& pattern) {
  static const std::map<char, LayerKind> letters = {
      {'M', {.mixer = Mixer::kMamba, .feed_forward = FeedForward::kNone}},
      {'*', {.mixer = Mixer::kAttention, .feed_forward = FeedForward::kNone}},
      {'E', {.mixer = Mixer::kNone, .feed_forward = FeedForward::kExperts}},
      {'-', {.mixer = Mixer::kNone, .feed_forward = FeedForward::kDense}}};
  std::vector<LayerKind> layers;
  for (const char letter : pattern.substr(0, pattern.find('/')))
    layers.push_back(letters.at(letter));
  return layers;
}

std::vector<LayerKind> layers_of(const json& line) {
  if (line.contains("hybrid")) return hybrid_layers(line["hybrid"]);
  const int64_t count = line["L"];
  const bool experts = line.contains("E");
  const int64_t dense = experts ? line.value("dense_first", int64_t{0}) : count;
  std::vector<LayerKind> layers;
  for (int64_t i = 0; i < count; ++i) {
    layers.push_back(
        {.mixer = line.value("mla", false) ? Mixer::kLatentAttention : Mixer::kAttention,
         .feed_forward = i < dense ? FeedForward::kDense : FeedForward::kExperts,
         .windowed = line.value("alt_window", false) && i % 2 == 0});
  }
  return layers;
}

mcore::Model model_of(const json& line) {
  const auto size = [&](const char* name) { return line.value(name, int64_t{0}); };
  mcore::Model model;
  model.layers = layers_of(line);
  model.mtp_layers = size("mtp");
  model.hidden = size("h");
  model.ffn = size("ffn");
  model.vocab = size("V");
  model.vocab_divisible_by = 1;
  model.gated = line.value("gated", false);
  model.attention = {.num_heads = size("a"),
                     .num_query_groups = size("g"),
                     .head_dim = size("d"),
                     .window = size("window"),
                     .q_lora_rank = size("q_rank"),
                     .kv_lora_rank = size("kv_rank"),
                     .qk_nope_dim = size("nope"),
                     .qk_rope_dim = size("rope"),
                     .v_dim = size("dv")};
  model.experts = {.num_experts = size("E"),
                   .topk = size("topk"),
                   .ffn = size("f_m"),
                   .shared_ffn = size("f_s"),
                   .latent_dim = size("latent")};
  model.state = {.num_heads = size("m_heads"),
                 .head_dim = size("m_dim"),
                 .state_dim = size("m_state"),
                 .num_groups = size("m_groups")};
  return model;
}

void read_recompute(const json& line, mcore::Run& run) {
  using Method = mcore::Recompute::Method;
  if (line.contains("labels")) {
    run.recompute = {.method = Method::kSelective, .labels = words(line["labels"])};
  }
  if (!line.contains("full")) return;
  run.recompute.method = line.contains("block") ? Method::kBlock : Method::kUniform;
  run.recompute.num_layers = line.value("block", int64_t{1});
}

void read_place(const json& line, mcore::Run& run) {
  run.place.graphs = words(line.value("graph", ""));
  run.place.tp_overlap = line.contains("tp_ov");
  run.place.ep_overlap = line.contains("ep_ov");
  if (line.contains("flash")) run.place.attention = mcore::AttentionKernel::kUnfused;
  run.model.experts.dispatcher = line.value("dispatcher", "hybridep");
  run.model.hidden_dropout = line.value("drop", 0.0);
  run.optimizer.fsdp = line.contains("fsdp");
  run.optimizer.trains_adapters_only = line.contains("peft");
  run.optimizer.distributed = true;
  run.optimizer.overlap_grad_reduce = run.optimizer.overlap_param_gather = true;
}

mcore::Run run_of(const json& line, const mcore::Model& model) {
  static const std::map<std::string, mcore::LowPrecision> precisions = {
      {"bf16", mcore::LowPrecision::kNone},
      {"fp8cs", mcore::LowPrecision::kFp8Current},
      {"mxfp8", mcore::LowPrecision::kMxfp8},
      {"nvfp4", mcore::LowPrecision::kNvfp4}};
  const auto size = [&](const char* name) { return line.value(name, int64_t{1}); };
  mcore::Run run;
  run.model = model;
  run.parallel = {.num_gpus = size("n"),
                  .tensor = size("tp"),
                  .pipeline = size("pp"),
                  .virtual_stages = size("vp"),
                  .context = size("cp"),
                  .expert = size("ep"),
                  .expert_tensor = size("etp"),
                  .sequence = !line.contains("sp")};
  run.parallel.data =
      run.parallel.num_gpus / (run.parallel.tensor * run.parallel.pipeline * run.parallel.context);
  run.batch = {.micro = size("mbs"), .global = size("gbs"), .seq = size("seq")};
  run.numerics.gemms = precisions.at(line["prec"]);
  read_recompute(line, run);
  read_place(line, run);
  return run;
}

TEST(Golden, StepsAgreeWithAnIndependentImplementation) {
  std::ifstream file(REFRAIN_SOURCE_DIR "/tests/cases/time/steps.jsonl");
  ASSERT_TRUE(file);
  std::map<std::string, json> models;
  int compared = 0;
  for (std::string text; std::getline(file, text);) {
    const json line = json::parse(text);
    if (line.contains("model")) {
      models[line["model"]] = line;
      continue;
    }
    const json& model = models.at(line["of"]);
    // Windows: the other implementation lets every token see the whole window, and not what is
    // before it where that is less.
    const double share = model.contains("alt_window") ? 0.01 : 1e-6;
    const mcore::Run run = run_of(line, model_of(model));
    const StepTime time = step_time(run, device(line["dev"]));
    const double step_s = line["step_s"], micro_batch_s = line["micro_batch_s"];
    EXPECT_NEAR(time.step_s, step_s, share * step_s) << text;
    EXPECT_NEAR(time.micro_batch.seconds(), micro_batch_s, share * micro_batch_s) << text;
    // Adapters: the other implementation counts weight gradients that nobody computes.
    if (!run.optimizer.trains_adapters_only) {
      const double flops = line["flops"];
      EXPECT_NEAR(time.flops.count(), flops, share * flops) << text;
    }
    ++compared;
  }
  EXPECT_GT(compared, 400);
}

}  // namespace
}  // namespace refrain::cost
