// What the commands carry out, once everything the user typed has been read and judged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/quantity.h"
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

/// A plan instead of a setting: chosen under a budget, or read from a file.
struct PlanOptions {
  std::optional<Bytes> budget;
  std::string file;   // empty: none
  std::string rates;  // a file of machine rates to price with; empty: the default ones
};

struct TrainOptions {
  ModelConfig model;
  RunShape shape;
  RecomputeSetting recompute;
  ReplayPolicy replay = ReplayPolicy::kDemand;
  PlanOptions plan;
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
  PlanOptions plan;    // a budget: its plan runs along
  bool json = false;
};

/// `refrain calibrate`.
struct CalibrateOptions {
  ModelConfig model;
  RunShape shape;
  DataOptions data;
  int64_t rounds = 5;
  std::string name = "cpu";
  std::string save;  // writes the rates there
};

struct LedgerOptions {
  ModelConfig model;
  RunShape shape;
  RecomputeSetting recompute;
  ReplayPolicy replay = ReplayPolicy::kDemand;
  bool json = false;
  bool csv = false;
};

/// `refrain plan` for our own engine.
struct EnginePlanOptions {
  ModelConfig model;
  RunShape shape;
  PlanOptions plan;  // no budget: the leanest plan
  std::string save;  // writes the plan there
  std::string html;  // writes it there as a page
  bool exact = false;
  bool why = false;
  bool json = false;
};

/// What must hold of a whole command, its model and shape included. Rules name what the user typed.
Findings validate(const TrainOptions& options);
Findings validate(const BenchOptions& options);
Findings validate(const LedgerOptions& options);
Findings validate(const EnginePlanOptions& options);
Findings validate(const CalibrateOptions& options);

}  // namespace refrain::config
