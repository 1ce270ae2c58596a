// Several settings of one model, run in alternation on the same weights and batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/run_options.h"
#include "engine/executor.h"
#include "plan/prepare.h"
#include "train/data/windows.h"

namespace refrain::train {

struct Contender {
  config::RecomputeSetting setting;
  config::ReplayPolicy replay = config::ReplayPolicy::kDemand;
  config::AttentionBackend attention = config::AttentionBackend::kFused;
  std::optional<plan::PreparedStep> plan;  // runs instead of the setting
  std::string name;                        // of the plan
};

struct ContenderResult {
  std::vector<double> step_ms;  // one a timed round
  engine::StepResult last;      // of the last round, gradients hashed
};

/// Every round takes one optimizer step with each contender, from the same weights: they are put
/// back before each. So the contenders meet the same state of a noisy machine, and what they
/// compute can be compared bit by bit.
class Contest {
 public:
  /// The options' own settings are ignored. `windows` must outlive the contest.
  Contest(const config::BenchOptions& options, const Windows& windows,
          std::vector<Contender> contenders);
  ~Contest();

  /// Steps `rounds` times in turn, after one round that is not timed and before another that is
  /// not, in which the gradients are hashed. Entries are in the contenders' order.
  std::vector<ContenderResult> run(int64_t rounds);

  const plan::PreparedStep& prepared(size_t contender) const;

 private:
  struct Lane;
  engine::StepResult step(Lane& lane, bool hash_gradients);
  void keep_weights();
  void restore_weights();

  config::TrainOptions options_;
  const Windows& windows_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  engine::Weights weights_;
  std::vector<std::vector<std::byte>> kept_;  // outside of the counting allocator
  int64_t round_ = 0;
};

}  // namespace refrain::train
