// The numbers of one training step besides the model: batch, sequence, precision, back end.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/finding.h"
#include "config/model_config.h"

namespace refrain::config {

enum class Precision { kF32, kBf16, kF64 };  // f64 is for gradient checks
enum class AttentionBackend { kFused, kUnfused };
std::string_view to_text(Precision precision);
std::string_view to_text(AttentionBackend attention);

struct RunShape {
  int64_t micro_batch = 1;
  int64_t seq = 256;
  int64_t num_micro_batches = 1;  // global batch / micro-batch
  Precision precision = Precision::kF32;
  AttentionBackend attention = AttentionBackend::kFused;
  double dropout = 0.0;    // on the embedding output, attention probabilities and both residuals
  double clip_grad = 0.0;  // global gradient norm; 0: none, and updates follow their gradients
  int64_t threads = 1;     // workers of the kernels: attention's scratch is per worker

  int64_t tokens() const { return micro_batch * seq; }
};

/// What must hold of a model, a shape, and between them: sizes in range, sequence within the
/// positions, byte counts that fit a 64-bit number, a program that fits a host's memory.
Findings validate(const ModelConfig& model, const RunShape& shape);

}  // namespace refrain::config
