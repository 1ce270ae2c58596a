// What must hold of a model by itself, and how a name or a path becomes one.
#include "config/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "config/hugging_face/hf_config.h"
#include "config/hugging_face/model_file.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

/// Sizes are capped far above any model so that products of a few of them stay within 64 bits.
struct SizeRow {
  std::string_view name;
  int64_t ModelConfig::*size;
  int64_t most;
};
constexpr int64_t kMostIds = INT32_MAX;  // token ids and positions are 32-bit numbers
constexpr SizeRow kSizes[] = {
    {"num_layers", &ModelConfig::num_layers, 10000},
    {"hidden", &ModelConfig::hidden, int64_t{1} << 24},
    {"num_heads", &ModelConfig::num_heads, int64_t{1} << 16},
    {"num_kv_heads", &ModelConfig::num_kv_heads, int64_t{1} << 16},
    {"head_dim", &ModelConfig::head_dim, int64_t{1} << 16},
    {"ffn_hidden", &ModelConfig::ffn_hidden, int64_t{1} << 24},
    {"vocab", &ModelConfig::vocab, kMostIds},
    {"max_positions", &ModelConfig::max_positions, kMostIds},
};

void check_sizes(const ModelConfig& model, Findings& findings) {
  for (const SizeRow& row : kSizes) {
    const int64_t size = model.*row.size;
    if (size >= 1 && size <= row.most) continue;
    findings.push_back({"model.size-out-of-range",
                        fmt::format("{} must be from 1 to {}: {}", row.name, row.most, size),
                        "correct the model's size"});
  }
}

void check_heads(const ModelConfig& model, Findings& findings) {
  if (model.num_kv_heads > 0 && model.num_heads % model.num_kv_heads != 0) {
    findings.push_back({"model.kv-heads-divide-heads",
                        fmt::format("num_heads must be a multiple of num_kv_heads: {} and {}",
                                    model.num_heads, model.num_kv_heads),
                        "give each key-value head the same number of query heads"});
  }
  if (model.position == PositionKind::kRope && model.head_dim % 2 != 0) {
    findings.push_back(
        {"model.rope-needs-even-head-dim",
         fmt::format("RoPE rotates pairs, so head_dim must be even: {}", model.head_dim),
         "use an even head_dim, or learned positions"});
  }
}

void check_constants(const ModelConfig& model, Findings& findings) {
  if (!std::isfinite(model.norm_eps) || model.norm_eps <= 0) {
    findings.push_back({"model.norm-eps",
                        fmt::format("the norm's epsilon must be above 0: {}", model.norm_eps),
                        "1e-5 and 1e-6 are usual"});
  }
  if (model.position == PositionKind::kRope &&
      (!std::isfinite(model.rope_base) || model.rope_base <= 0)) {
    findings.push_back({"model.rope-base",
                        fmt::format("RoPE's base must be above 0: {}", model.rope_base),
                        "10000 is usual"});
  }
}

Checked<ModelConfig> read_model_file(const std::string& path) {
  Checked<std::string> text = read_model_text(path);
  if (!text.value) return Checked<ModelConfig>::reject(std::move(text.findings));
  return parse_hf_config(*text.value, path);
}

bool looks_like_path(const std::string& text) {
  std::error_code error;
  return text.find('/') != std::string::npos || text.ends_with(".json") ||
         std::filesystem::exists(text, error);
}

}  // namespace

std::string_view to_text(NormKind kind) {
  return kind == NormKind::kLayerNorm ? "LayerNorm" : "RMSNorm";
}

std::string_view to_text(PositionKind kind) {
  return kind == PositionKind::kLearned ? "learned" : "RoPE";
}

std::string_view to_text(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kGeluTanh:
      return "GELU (tanh)";
    case ActivationKind::kGeluErf:
      return "GELU (erf)";
    case ActivationKind::kSwiglu:
      break;
  }
  return "SwiGLU";
}

Findings validate(const ModelConfig& model) {
  Findings findings;
  check_sizes(model, findings);
  check_heads(model, findings);
  check_constants(model, findings);
  return findings;
}

Checked<ModelConfig> find_model(const std::string& name_or_path) {
  std::vector<std::string> names;
  for (const ModelConfig& model : named_models()) {
    if (model.name == name_or_path) return Checked<ModelConfig>::accept(model);
    names.push_back(model.name);
  }
  if (looks_like_path(name_or_path)) return read_model_file(name_or_path);
  const auto near = nearest(name_or_path, names);
  return Checked<ModelConfig>::reject(
      {{"model.unknown-name",
        fmt::format("a model must be a known name or the path of a config.json: {}",
                    in_quotes(name_or_path)),
        near ? fmt::format("did you mean {}? `refrain models` lists all", *near)
             : "`refrain models` lists the names"}});
}

}  // namespace refrain::config
