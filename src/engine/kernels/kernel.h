// What a kernel is: explicit forward and backward of one op kind, writing into tensors the executor
// hands over. No autograd, no allocation: scratch comes as one block of the declared size.
//
// Two sets: fused loops of our own for the CPU, and a plain ATen twin of each for every other
// device and for tests.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "engine/numerics/philox.h"
#include "engine/numerics/scratch_carver.h"
#include "model/graph.h"

namespace refrain::engine {

/// Tensors stand in the order of the op's own lists.
struct ForwardArgs {
  std::span<const at::Tensor> reads, params, writes;  // in place: writes[0] is the read's storage
  ScratchBlock scratch;
  DropoutKey key;
};

/// A gradient to be written: fresh (overwrite) or already holding a contribution (add to it).
/// Undefined `tensor`: nobody wants it.
struct GradientOut {
  at::Tensor tensor;
  bool accumulate = false;
};

enum class BackwardPart : uint8_t { kWhole, kWeights, kInputs };

struct BackwardArgs {
  std::span<const at::Tensor> saved;            // backward_reads; empty for kInputs
  std::span<const at::Tensor> write_gradients;  // of each write; undefined for statistics
  std::span<const GradientOut> read_gradients;  // of each read; may share storage as the op says
  std::span<const at::Tensor> params;
  std::span<const GradientOut> param_gradients;  // float32 (float64 in f64), also for bf16 weights
  ScratchBlock scratch;
  DropoutKey key;
  BackwardPart part = BackwardPart::kWhole;
};

/// The head: forward and backward in one pass over chunks of tokens.
/// x [T, h], targets int32 [T], weight [V, h]. Without `x_gradient` only the loss is computed.
struct HeadLossArgs {
  at::Tensor x, targets, weight;
  at::Tensor x_gradient;        // may be x itself; undefined in evaluation
  GradientOut weight_gradient;  // undefined in evaluation
  double gradient_scale = 1;    // 1 / (tokens of the global batch)
  ScratchBlock scratch;
};

struct Kernel {
  void (*forward)(const model::Op&, const ForwardArgs&) = nullptr;
  void (*backward)(const model::Op&, const BackwardArgs&) = nullptr;
};

enum class KernelSet : uint8_t { kFused, kPlain };

/// RC_CHECKs that the kind has kernels (kHeadLoss has head_loss instead).
const Kernel& kernel_of(model::OpKind kind, KernelSet set);

/// Sum over tokens of the cross-entropy in nats.
double head_loss(const model::Op& op, const HeadLossArgs& args, KernelSet set);

}  // namespace refrain::engine
