// Chooses what to recompute, per layer and activation, under a memory budget: least seconds inside
// it, or the proof that nothing fits.
#pragma once

#include <string>
#include <vector>

#include "config/model_config.h"
#include "config/run_shape.h"
#include "cost/program/machine_rates.h"
#include "cost/program/price.h"
#include "plan/frontier.h"
#include "plan/knapsack.h"
#include "plan/prepare.h"

namespace refrain::plan {

/// A training step whose plan is wanted.
struct Workload {
  config::ModelConfig model;
  config::RunShape shape;  // both have passed config::validate
  cost::MachineRates rates;
};

/// Why an activation was kept or is recomputed: what dropping it alone frees and costs, against
/// what a byte of the budget is worth.
struct Reason {
  std::string activation;
  Bytes freed;          // of a layer
  double replay_s = 0;  // of a layer and micro-batch
  bool recomputed = false;
};

/// Consecutive layers that are treated alike.
struct LayerDecision {
  int64_t first = 0, last = 0;
  int32_t run = 1;                      // layers that share one kept input; 1: each keeps its own
  std::vector<std::string> recomputed;  // activations of each layer; empty: all are kept
  std::vector<Reason> reasons;          // one an activation, in forward order
};

struct EnginePlan {
  program::RecomputePlan recompute;
  PreparedStep step;  // its timeline's peak is the plan's, to the byte
  cost::Timing timing;
  std::vector<LayerDecision> decisions;
  double gap = 0;             // of the replay seconds; 0: proven least
  double search_s = 0;        // replay of one micro-batch, by the search's own sums
  int64_t examined = 0;       // choices that were measured
  int64_t frontier_size = 0;  // of them not dominated
};

/// A change of the run that lets a plan fit, or comes nearer.
struct Lever {
  std::string change;  // as the user would type it: "--micro-batch 2"
  Bytes least_peak;    // with it
  double step_s = 0;   // of the plan with that peak
};

/// Searches that share their frontiers: one a workload, as many budgets as you like.
class Planner {
 public:
  explicit Planner(Workload workload);

  /// Bytes that the leanest plan holds at its peak, and where.
  Bytes least_peak() const { return Bytes(least_); }
  std::string binds_at() const;

  /// Findings: `plan.budget-too-small` names the least peak.
  Checked<EnginePlan> plan(Bytes budget, const Effort& effort = {}) const;

  /// Seconds of a step, all of its micro-batches, that one more byte would save, by what a
  /// hundredth more of the budget saves. `plan` is the one for `budget`. As dear as another plan,
  /// so it is not part of one.
  double byte_price_s(Bytes budget, const EnginePlan& plan) const;

  /// Why those layers are treated so: `reasons` of a decision that has none.
  std::vector<Reason> reasons_of(const LayerDecision& decision) const;

  /// Highest bytes of a plan by the search's own sums; the ledger's peak where they are right.
  int64_t predicted_peak(Bytes budget) const;

  /// What else could be changed where nothing fits, leanest first; each evaluated.
  std::vector<Lever> levers() const;

  const Workload& workload() const { return workload_; }

 private:
  Knapsack knapsack(Bytes budget) const;
  bool stands_at(const Choice& choice, size_t block) const;
  /// By block; null inside a run.
  std::vector<const Choice*> choices_of(const Knapsack& solved, const Picks& picks) const;
  EnginePlan carry_out(const std::vector<const Choice*>& choices) const;
  std::vector<LayerDecision> decisions(const std::vector<const Choice*>& choices) const;

  Workload workload_;
  model::ModelGraph graph_;
  program::Schedule schedule_;
  std::vector<Frontier> frontiers_;  // by graph
  FixedBytes fixed_;
  int64_t least_ = 0;
};

}  // namespace refrain::plan
