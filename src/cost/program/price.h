// Prices a Program as seconds on a machine: the third reader beside ledger and engine.
#pragma once

#include "cost/program/machine_rates.h"
#include "model/graph.h"
#include "program/program.h"

namespace refrain::cost {

/// FLOPs that the op declares for one of its steps.
Flops flops_of(const model::Op& op, program::StepKind kind);

/// What a step does: so many FLOPs or bytes of one kind of work.
enum class WorkKind : uint8_t {
  kGemm,
  kAttentionForward,
  kAttentionBackward,
  kMemory,
  kActivation,
  kUpdate,
};
inline constexpr int kNumWorkKinds = 6;
struct Work {
  WorkKind kind;
  double amount;
};
Work work_of(const model::ModelGraph& graph, const program::Program& program,
             const program::Step& step);

/// The rate of a kind of work: the member of MachineRates that it is divided by.
double MachineRates::*rate_of(WorkKind kind);

/// Seconds of one step of the Program, whatever its kind.
double seconds_of(const model::ModelGraph& graph, const program::Program& program,
                  const program::Step& step, const MachineRates& rates);

/// Seconds by what they are spent on; `replay` is what recompute costs.
struct Timing {
  double forward_s = 0, backward_s = 0, replay_s = 0, update_s = 0;

  double total_s() const { return forward_s + backward_s + replay_s + update_s; }
};

/// One optimizer step. A linear model: FLOPs over a rate for GEMMs and attention, bytes over a rate
/// for everything else, and a constant for each op.
Timing price(const model::ModelGraph& graph, const program::Program& program,
             const MachineRates& rates);

}  // namespace refrain::cost
