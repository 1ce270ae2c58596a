// What the commands carry out, once everything the user typed has been read and judged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/finding.h"
#include "config/model_config.h"
#include "config/recompute_setting.h"
#include "config/run_shape.h"

namespace refrain::config {

/// AdamW and its schedule: linear warm-up to `lr`, then a cosine down to `min_lr`. The schedule
/// does not depend on how many steps a run takes, so that stopping and resuming changes no bit.
struct OptimizerOptions {
  double lr = 3e-4;
  double min_lr = 3e-5;
  int64_t warmup_steps = 0;
  int64_t decay_steps = 10000;  // the step from which on the rate is min_lr
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
};

/// Text to train on. Every random number of a run derives from `seed`.
struct DataOptions {
  std::string path;  // a file or a folder of text; empty: the default corpus
  uint64_t seed = 1234;
};

struct EvalOptions {
  int64_t every = 0;  // steps; 0: never
  int64_t batches = 8;
};

struct CheckpointOptions {
  std::string save;        // folder; empty: nothing is saved
  std::string resume;      // folder; empty: from the start
  int64_t save_every = 0;  // steps; 0: at the end only
};

struct TrainOptions {
  ModelConfig model;
  RunShape shape;
  RecomputeSetting recompute;
  ReplayPolicy replay = ReplayPolicy::kDemand;
  DataOptions data;
  int64_t steps = 20;
  OptimizerOptions optimizer;
  EvalOptions eval;
  CheckpointOptions checkpoint;
  bool json = false;
};

/// Every setting under every attention back end and replay policy, in alternation.
struct BenchOptions {
  ModelConfig model;
  RunShape shape;  // attention: the first of `attentions`
  std::vector<RecomputeSetting> settings;
  std::vector<ReplayPolicy> replays;
  std::vector<AttentionBackend> attentions;
  DataOptions data;
  int64_t steps = 10;  // of each setting: one a round
  bool json = false;
};

struct LedgerOptions {
  ModelConfig model;
  RunShape shape;
  RecomputeSetting recompute;
  ReplayPolicy replay = ReplayPolicy::kDemand;
  bool json = false;
  bool csv = false;
};

/// What must hold of a whole command, its model and shape included. Rules name what the user typed.
Findings validate(const TrainOptions& options);
Findings validate(const BenchOptions& options);
Findings validate(const LedgerOptions& options);

}  // namespace refrain::config
