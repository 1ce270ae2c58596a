// A training run: weights, data and a prepared step, advanced one optimizer step at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/finding.h"
#include "config/run_options.h"
#include "engine/executor.h"
#include "plan/prepare.h"
#include "train/data/windows.h"
#include "train/disk/checkpoint.h"

namespace refrain::train {

/// What an optimizer step of the run uses beside weights; `step` counts from 1.
engine::StepOptions step_options(const config::TrainOptions& options, int64_t step);

/// The batches of optimizer step `step` (1-based), a pure function of the step.
engine::BatchSource batches(const Windows& windows, const config::RunShape& shape, int64_t step);

class Trainer {
 public:
  /// Installs the counting allocator, sets the number of threads, makes fresh weights.
  /// `prepared` is the step that the options ask for (plan::choose_step).
  Trainer(const config::TrainOptions& options, plan::PreparedStep prepared, Windows windows);

  /// One optimizer step over the global batch.
  engine::StepResult step(bool hash_gradients);

  /// Mean loss over `batches` held-out micro-batches (fewer where there are fewer); no dropout.
  double evaluate(int64_t batches);

  void save(CheckpointFolder& folder) const;
  /// Takes over weights, moments and progress. Findings where the checkpoint is of another run;
  /// then nothing has changed.
  Findings resume(const Checkpoint& checkpoint);

  int64_t completed() const { return completed_; }
  const plan::PreparedStep& prepared() const { return prepared_; }
  const Windows& windows() const { return windows_; }

 private:
  TrainState state() const;

  config::TrainOptions options_;
  Windows windows_;
  plan::PreparedStep prepared_;
  engine::Weights weights_;
  engine::Executor executor_;
  int64_t completed_ = 0;
};

}  // namespace refrain::train
