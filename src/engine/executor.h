// Carries a Program out, step by step, as it stands: it decides nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/quantity.h"
#include "engine/kernels/adamw.h"
#include "engine/kernels/kernel.h"
#include "engine/weights.h"
#include "model/graph.h"
#include "program/program.h"

namespace refrain::engine {

/// Fills one micro-batch: token ids and next-token targets, b*s numbers each.
using BatchSource =
    std::function<void(int64_t micro_batch, std::span<int32_t> tokens, std::span<int32_t> targets)>;

struct StepOptions {
  AdamW adamw;           // its gradient_factor is the executor's to set
  double clip_grad = 0;  // global norm; 0: none (the Program must have been lowered alike)
  uint64_t seed = 0;     // of dropout
  bool hash_gradients = false;
};

struct StepResult {
  double loss = 0;                    // mean cross-entropy a token over the global batch, in nats
  double grad_norm = 0;               // before clipping; 0 in evaluation
  std::optional<uint64_t> grad_hash;  // XXH3 over the gradients' XXH3s in parameter order
  Bytes peak;                         // most that the allocator held at any moment of the step
};

/// The Program, its graph and the Weights must outlive the Executor. One at a time a thread.
class Executor {
 public:
  Executor(const model::ModelGraph& graph, const program::Program& program, Weights& weights,
           KernelSet kernels = KernelSet::kFused);

  /// Runs all steps of the Program once. `after_step`, where given, is called after each with its
  /// index, when the step's Values have been freed.
  StepResult run(const BatchSource& batch, const StepOptions& options,
                 const std::function<void(size_t)>& after_step = {});

 private:
  void run_step(const program::Step& step);
  void load_batch(const program::Step& step);
  void run_forward(const program::Step& step, ScratchBlock scratch);
  void run_backward(const program::Step& step, ScratchBlock scratch);
  void run_loss(const program::Step& step, ScratchBlock scratch);
  void clip(const program::Step& step);
  void update(const program::Step& step);
  void note_gradient(int32_t param, const at::Tensor& gradient);
  DropoutKey key_of(const program::Step& step) const;
  const at::Tensor& tensor(program::ValueId value) const;
  std::vector<at::Tensor> gather(const std::vector<program::ValueId>& values) const;
  std::vector<GradientOut> gather(const std::vector<program::ValueId>& values,
                                  const std::vector<bool>& accumulate) const;

  const model::ModelGraph& graph_;
  const program::Program& program_;
  Weights& weights_;
  KernelSet kernels_;
  std::vector<at::Tensor> tensors_;  // one a Value; undefined while it is not live

  // Of the run in progress.
  const BatchSource* batch_ = nullptr;
  StepOptions options_;
  double loss_sum_ = 0;
  int64_t num_tokens_ = 0;
  std::vector<std::optional<double>> squares_;  // sum of squares of each parameter's gradient
  std::vector<uint64_t> hashes_;
};

}  // namespace refrain::engine
