// Recompute settings of one model on one set of weights, each ready to take a step when asked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/executor.h"
#include "plan/prepare.h"
#include "train/contest.h"

namespace refrain::bench {

/// How the steps of a race update: the same on both sides. The rate is so small that the loss stays
/// where it is: training one batch by heart would end in gradients that underflow, and arithmetic
/// on subnormal numbers is slower than what is to be measured.
inline constexpr double kRaceLr = 1e-6;

/// Name of a contender that runs the plan whose budget is the peak of its setting.
inline constexpr const char* kPlanned = "plan";

/// Time and work of one kind of step on one op, summed over layers.
struct OpTime {
  std::string step, op;
  int64_t count = 0;
  double ms = 0;
  double gigaflops = 0;  // 10^9 floating-point operations, 0 where the model declares none
};

/// One micro-batch of random tokens, weights as `init_weights` makes them, and an Executor for each
/// contender that was asked for.
class Lanes {
 public:
  /// `config` and `shape` have passed config::validate.
  Lanes(config::ModelConfig config, const config::RunShape& shape);

  const plan::PreparedStep& prepared(const train::Contender& contender);

  /// One training step. The weights go on from step to step, whoever takes it.
  engine::StepResult step(const train::Contender& contender);

  /// One step that changes no weight (learning rate 0) and leaves its gradients in
  /// weights().first_moment: with beta1 = 0 the moment is the gradient, to the bit.
  engine::StepResult gradients(const train::Contender& contender);

  /// Median over `rounds` training steps of the time between the ends of neighbouring steps of the
  /// Program, in order of time spent. Allocation and scratch count with the step they belong to.
  std::vector<OpTime> profile(const train::Contender& contender, int64_t rounds);

  const config::ModelConfig& config() const { return config_; }
  const engine::Weights& weights() const { return weights_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::vector<int32_t>& targets() const { return targets_; }

 private:
  struct Lane {
    plan::PreparedStep prepared;
    std::unique_ptr<engine::Executor> executor;
  };
  Lane& lane(const train::Contender& contender);
  engine::StepResult run(Lane& lane, const engine::StepOptions& options,
                         const std::function<void(size_t)>& after_step = {});

  config::ModelConfig config_;
  config::RunShape shape_;
  std::vector<int32_t> tokens_, targets_;
  std::map<std::string, Lane> lanes_;
  engine::Weights weights_;
  int64_t steps_ = 0;
};

}  // namespace refrain::bench
