#include "plan/megatron/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/scan.h"

namespace refrain::plan {
namespace {

using mcore::FeedForward;
using mcore::LayerKind;
using mcore::Mixer;
using mcore::Model;
using mcore::Recompute;
using Method = mcore::Recompute::Method;

template <class F>
bool any_layer(const Model& model, F holds) {
  return std::any_of(model.layers.begin(), model.layers.end(), holds);
}

std::vector<std::string> words_of(const Recompute& recompute) {
  return {recompute.labels.begin(), recompute.labels.end()};
}

Recompute selective(const std::vector<std::string>& labels) {
  return {.method = Method::kSelective, .labels = {labels.begin(), labels.end()}};
}

/// Layers of the largest chunk of any rank.
int64_t layers_of_a_chunk(const mcore::Run& run) {
  int64_t most = 1;
  for (int64_t rank = 0; rank < run.parallel.pipeline; ++rank) {
    for (int64_t stage = 0; stage < run.parallel.virtual_stages; ++stage) {
      most = std::max(most, mcore::stage_layers(run, rank, stage).count);
    }
  }
  return most;
}

}  // namespace

std::string to_text(const Recompute& recompute) {
  switch (recompute.method) {
    case Method::kNone:
      return "none";
    case Method::kSelective:
      return "selective:" + config::joined(words_of(recompute), ",");
    case Method::kUniform:
      return fmt::format("full:uniform:{}", recompute.num_layers);
    case Method::kBlock:
      return fmt::format("full:block:{}", recompute.num_layers);
  }
  return "?";
}

std::string megatron_lm_flags(const Recompute& recompute) {
  switch (recompute.method) {
    case Method::kNone:
      return "";
    case Method::kSelective:
      return "--recompute-granularity selective --recompute-modules " +
             config::joined(words_of(recompute), " ");
    default:
      return fmt::format(
          "--recompute-granularity full --recompute-method {} --recompute-num-layers {}",
          recompute.method == Method::kUniform ? "uniform" : "block", recompute.num_layers);
  }
}

std::string bridge_overrides(const Recompute& recompute) {
  switch (recompute.method) {
    case Method::kNone:
      return "model.recompute_granularity=null";
    case Method::kSelective:
      return fmt::format("model.recompute_granularity=selective model.recompute_modules=[{}]",
                         config::joined(words_of(recompute), ","));
    default:
      return fmt::format(
          "model.recompute_granularity=full model.recompute_method={} "
          "model.recompute_num_layers={}",
          recompute.method == Method::kUniform ? "uniform" : "block", recompute.num_layers);
  }
}

Checked<Recompute> read_setting(std::string_view text, const Model& model) {
  const auto reject = [](std::string rule, std::string message, std::string remedy) {
    return Checked<Recompute>::reject(
        {{"recompute." + rule, std::move(message), std::move(remedy)}});
  };
  const std::vector<std::string> parts = config::split(text, ':');
  if (parts[0] == "none" && parts.size() == 1) return Checked<Recompute>::accept({});
  if (parts[0] == "selective" && parts.size() == 2) {
    const std::vector<std::string> known = labels_of(model), labels = config::split(parts[1], ',');
    for (const std::string& label : labels) {
      if (std::find(known.begin(), known.end(), label) != known.end()) continue;
      const auto near = nearest(label, known);
      return reject("unknown-label",
                    fmt::format("a label must be one that this model has, {}: {}",
                                config::joined(known), config::in_quotes(label)),
                    near ? fmt::format("did you mean {}?", *near) : "leave it out");
    }
    return Checked<Recompute>::accept(selective(labels));
  }
  const bool uniform = parts.size() == 3 && parts[1] == "uniform";
  const bool block = parts.size() == 3 && parts[1] == "block";
  if (parts[0] != "full" || !(uniform || block)) {
    return reject("unreadable",
                  fmt::format("a setting must be none, selective:label,label, full:uniform:K or "
                              "full:block:K: {}",
                              config::in_quotes(text)),
                  "give --recompute full:uniform:1");
  }
  const auto layers = config::parse_whole(parts[2]);
  const auto most = static_cast<int64_t>(model.layers.size());
  if (!layers || *layers < 1 || *layers > most) {
    return reject("num-layers",
                  fmt::format("K must be from 1 to the model's {} layers: {}", most,
                              config::in_quotes(parts[2])),
                  "give --recompute full:uniform:1");
  }
  return Checked<Recompute>::accept(
      {.method = uniform ? Method::kUniform : Method::kBlock, .num_layers = *layers});
}

std::vector<std::string> labels_of(const Model& model) {
  std::vector<std::string> labels;
  const bool attends = any_layer(model, [](const LayerKind& k) {
    return k.mixer == Mixer::kAttention || k.mixer == Mixer::kLatentAttention;
  });
  const bool experts =
      any_layer(model, [](const LayerKind& k) { return k.feed_forward == FeedForward::kExperts; });
  if (attends) labels.emplace_back("core_attn");
  labels.emplace_back("layernorm");
  if (any_layer(model, [](const LayerKind& k) { return k.mixer == Mixer::kLatentAttention; })) {
    labels.emplace_back("mla_up_proj");
  }
  if (any_layer(model, [](const LayerKind& k) { return k.feed_forward == FeedForward::kDense; })) {
    labels.emplace_back("mlp");
  }
  if (experts) {
    labels.emplace_back("moe");
    labels.emplace_back("moe_act");
    if (model.experts.shared_ffn > 0) labels.emplace_back("shared_experts");
  }
  return labels;
}

std::vector<Recompute> usual_settings(const mcore::Run& run) {
  std::vector<Recompute> settings(1);
  const std::vector<std::string> labels = labels_of(run.model);
  for (const std::string& label : labels) settings.push_back(selective({label}));
  const auto has = [&](const char* label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  };
  const std::vector<std::vector<std::string>> combinations = {
      {"core_attn", "mlp"}, {"layernorm", "moe_act"}, {"mla_up_proj", "moe_act"}};
  for (const auto& combination : combinations) {
    const bool known = std::all_of(combination.begin(), combination.end(),
                                   [&](const std::string& label) { return has(label.c_str()); });
    if (known) settings.push_back(selective(combination));
  }
  const int64_t chunk = layers_of_a_chunk(run);
  if (chunk > 1) settings.push_back({.method = Method::kBlock, .num_layers = chunk / 2});
  settings.push_back({.method = Method::kUniform, .num_layers = 1});
  return settings;
}

std::vector<Recompute> all_settings(const mcore::Run& run) {
  std::vector<Recompute> settings(1);
  const std::vector<std::string> labels = labels_of(run.model);
  for (uint32_t subset = 1; subset < uint32_t{1} << labels.size(); ++subset) {
    std::vector<std::string> chosen;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (subset >> i & 1) chosen.push_back(labels[i]);
    }
    settings.push_back(selective(chosen));
  }
  const int64_t chunk = layers_of_a_chunk(run);
  for (int64_t k = 1; k <= chunk; ++k) {
    settings.push_back({.method = Method::kBlock, .num_layers = k});
  }
  settings.push_back({.method = Method::kUniform, .num_layers = 1});
  return settings;
}

}  // namespace refrain::plan
