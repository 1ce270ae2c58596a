// A plan as one web page that needs nothing else: no network, no other file.
//
// The page is readable without its script, in print and by a screen reader: every chart has its
// table. The script adds what pointer and keyboard do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace refrain::report {

struct MemoryStep {
  std::string name;
  std::vector<Bytes> held;  // while it runs, one an account
};

/// Consecutive steps, both ends included.
struct StepRange {
  std::string name;
  size_t first = 0, last = 0;
};

/// What every step of one training step holds.
struct MemoryTimeline {
  std::vector<std::string> accounts;  // program::to_text(Account), bottom of the stack first
  std::vector<MemoryStep> steps;      // one at least
  size_t peak_step = 0;
  Bytes resident;                    // of parameters, tables and optimizer: what no plan frees
  std::vector<StepRange> passes;     // all steps in order: forward, loss, backward, update
  std::vector<StepRange> stretches;  // the same, finer: the rows of the table
};

/// What a step costs under some plan or setting.
struct StepCost {
  Bytes peak;
  double replay_s = 0;  // of recompute
  double step_s = 0;    // all of it
};

/// The plan of one budget.
struct BudgetPlan {
  Bytes budget;
  StepCost cost;
  double gap = 0;  // of replay_s; 0: proven least
};

/// A setting of Megatron's vocabulary.
struct SettingCost {
  std::string name;
  StepCost cost;
  bool common = false;   // one of those that people publish
  bool nearest = false;  // the fastest of those that fit and that Megatron can express
};

struct ActivationChoice {
  std::string name;
  Bytes freed;          // of a layer
  double replay_s = 0;  // of a layer and micro-batch
  bool recomputed = false;
};

/// Consecutive layers that are treated alike.
struct LayerGroup {
  int64_t first = 0, last = 0;
  int32_t run = 1;  // layers that share one kept input
  std::vector<ActivationChoice> activations;
};

struct Fact {
  std::string name, value;
};

struct PlanPage {
  std::string model;
  std::vector<Fact> run;  // model, shape and machine that the plan is for
  BudgetPlan plan;
  bool leanest = false;                // no budget was given
  Bytes least_peak;                    // of any plan
  StepCost without;                    // recompute
  double byte_price_s = 0;             // of a step
  int64_t examined = 0, frontier = 0;  // choices of a layer; those not dominated
  MemoryTimeline timeline;
  std::vector<BudgetPlan> curve;  // by budget, from the leanest to no recompute
  std::vector<SettingCost> settings;
  std::vector<LayerGroup> layers;
};

/// The whole page, UTF-8.
std::string to_html(const PlanPage& page);

/// The setting that is marked as nearest; null where none is.
const SettingCost* nearest_setting(const PlanPage& page);

}  // namespace refrain::report
