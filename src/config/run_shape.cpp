// What must hold of a run's numbers before anything is built from them.
#include "config/run_shape.h"

#include <fmt/format.h>

#include "config/model_config.h"

namespace refrain::config {
namespace {

struct ShapeRow {
  std::string_view name;
  int64_t RunShape::*size;
  int64_t most;
  std::string_view remedy;
};
constexpr ShapeRow kShape[] = {
    {"micro-batch", &RunShape::micro_batch, int64_t{1} << 20, "give --micro-batch N"},
    {"seq", &RunShape::seq, INT32_MAX, "give --seq N"},
    {"the number of micro-batches", &RunShape::num_micro_batches, int64_t{1} << 20,
     "give a --global-batch that is a multiple of --micro-batch"},
    {"threads", &RunShape::threads, 1024, "give --threads N"},
};

// A Program lists every op of every layer of every micro-batch, at about 30 KiB a layer.
constexpr int64_t kMostLayerPasses = 100000;

// Where bytes, added up however one likes, still fit an int64 with room to spare.
constexpr double kMostBytes = 0x1p60;

void check_sizes(const RunShape& shape, Findings& findings) {
  for (const ShapeRow& row : kShape) {
    const int64_t size = shape.*row.size;
    if (size >= 1 && size <= row.most) continue;
    findings.push_back({"shape.size-out-of-range",
                        fmt::format("{} must be from 1 to {}: {}", row.name, row.most, size),
                        std::string(row.remedy)});
  }
}

void check_reals(const RunShape& shape, Findings& findings) {
  if (!(shape.dropout >= 0.0 && shape.dropout < 1.0)) {  // written so that NaN fails
    findings.push_back({"shape.dropout",
                        fmt::format("dropout must be from 0 to below 1: {}", shape.dropout),
                        "give a probability, such as --dropout 0.1"});
  }
  if (!(shape.clip_grad >= 0.0 && shape.clip_grad <= 1e30)) {
    findings.push_back(
        {"shape.clip-grad",
         fmt::format("clip-grad must be 0 (no clipping) or a norm above it: {}", shape.clip_grad),
         "1.0 is usual; 0 clips nothing"});
  }
}

/// An upper bound of what one step holds, in doubles, which do not overflow.
double bytes_at_most(const ModelConfig& m, const RunShape& s) {
  const auto real = [](int64_t n) { return static_cast<double>(n); };
  const double hidden = real(m.hidden);
  const double ffn = real(m.ffn_hidden);
  const double heads = real(m.num_heads) + 2 * real(m.num_kv_heads);
  const double qkv = heads * real(m.head_dim);
  const double seq = real(s.seq);
  const double tokens = real(s.micro_batch) * seq;
  const double ends = 2 * hidden * (real(m.vocab) + real(m.max_positions));
  const double layer_params = hidden * (2 * qkv + 3 * ffn + 8) + qkv + 2 * ffn;
  const double layer_activations = tokens * (12 * hidden + 4 * qkv + 6 * ffn);
  const double scores = s.attention == AttentionBackend::kFused
                            ? 0
                            : 4 * real(s.micro_batch) * real(m.num_heads) * seq * seq;
  const double logits = tokens * real(m.vocab);
  const double layers = real(m.num_layers);
  // 32 bytes a parameter (f64 weight, gradient, two moments), 16 an activation (with gradient).
  return 32 * (ends + layers * layer_params) +
         16 * (layers * (layer_activations + scores) + logits);
}

void check_products(const ModelConfig& model, const RunShape& shape, Findings& findings) {
  const double bytes = bytes_at_most(model, shape);
  if (bytes > kMostBytes) {
    findings.push_back(
        {"shape.too-large",
         fmt::format("a step must stay below {:.3g} bytes: up to {:.3g}", kMostBytes, bytes),
         "lower --seq, --micro-batch or the model's sizes"});
  }
  if (model.num_layers * shape.num_micro_batches > kMostLayerPasses) {
    findings.push_back({"shape.program-too-long",
                        fmt::format("layers times micro-batches must not exceed {}: {} and {}",
                                    kMostLayerPasses, model.num_layers, shape.num_micro_batches),
                        "raise --micro-batch, or lower --global-batch"});
  }
}

}  // namespace

std::string_view to_text(Precision precision) {
  switch (precision) {
    case Precision::kF32:
      return "f32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kF64:
      break;
  }
  return "f64";
}

std::string_view to_text(AttentionBackend attention) {
  return attention == AttentionBackend::kFused ? "fused" : "unfused";
}

Findings validate(const ModelConfig& model, const RunShape& shape) {
  Findings findings = validate(model);
  check_sizes(shape, findings);
  check_reals(shape, findings);
  if (!findings.empty()) return findings;  // what follows multiplies sizes
  if (shape.seq > model.max_positions) {
    findings.push_back({"shape.sequence-exceeds-positions",
                        fmt::format("seq must not exceed the model's positions: {} and {}",
                                    shape.seq, model.max_positions),
                        fmt::format("give --seq {} or less", model.max_positions)});
  }
  check_products(model, shape, findings);
  return findings;
}

}  // namespace refrain::config
