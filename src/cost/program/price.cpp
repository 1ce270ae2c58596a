#include "cost/program/price.h"

#include "base/error.h"

namespace refrain::cost {
namespace {

using model::OpKind;
using program::Step;
using program::StepKind;
using program::ValueId;

double bytes_of(const program::Program& program, const std::vector<ValueId>& values) {
  double bytes = 0;
  for (const ValueId v : values) {
    if (v != program::kNoValue) bytes += static_cast<double>(program.values[v].bytes().count());
  }
  return bytes;
}

/// Bytes that the step's operands hold: what an op without arithmetic worth counting moves.
double traffic(const program::Program& program, const Step& step) {
  return bytes_of(program, step.reads) + bytes_of(program, step.writes) +
         bytes_of(program, step.write_gradients) + bytes_of(program, step.params) +
         bytes_of(program, step.param_gradients);
}

bool is_backward(StepKind kind) {
  return kind == StepKind::kBackward || kind == StepKind::kBackwardWeights ||
         kind == StepKind::kBackwardInputs;
}

WorkKind kind_of(OpKind op, StepKind step) {
  switch (op) {
    case OpKind::kLinear:
    case OpKind::kHeadLoss:
      return WorkKind::kGemm;
    case OpKind::kAttention:
    case OpKind::kAttentionScores:
    case OpKind::kAttentionContext:
      return is_backward(step) ? WorkKind::kAttentionBackward : WorkKind::kAttentionForward;
    case OpKind::kActivation:
      return WorkKind::kActivation;
    default:
      return WorkKind::kMemory;
  }
}

bool counts_bytes(WorkKind kind) {
  return kind == WorkKind::kMemory || kind == WorkKind::kActivation;
}

}  // namespace

Flops flops_of(const model::Op& op, StepKind kind) {
  switch (kind) {
    case StepKind::kForward:
    case StepKind::kReplay:
      return op.forward_flops;
    case StepKind::kLoss:
      return op.forward_flops + op.backward_flops;
    case StepKind::kBackwardWeights:
    case StepKind::kBackwardInputs:  // two GEMMs of one size, one in each step
      return op.backward_flops * 0.5;
    default:
      return op.backward_flops;
  }
}

Work work_of(const model::ModelGraph& graph, const program::Program& program, const Step& step) {
  const double bytes = traffic(program, step);
  if (step.kind == StepKind::kUpdate) return {WorkKind::kUpdate, bytes};
  if (step.kind == StepKind::kLoadBatch || step.kind == StepKind::kClip) {
    return {WorkKind::kMemory, bytes};
  }
  const model::Op& op = graph.graph(step.op.block).ops[step.op.op];
  const WorkKind kind = kind_of(op.kind, step.kind);
  if (!counts_bytes(kind)) return {kind, flops_of(op, step.kind).count()};
  // An embedding gathers rows; the table is not read through.
  const bool gathers = op.kind == OpKind::kEmbedding && step.kind != StepKind::kBackward;
  return {kind, gathers ? bytes - bytes_of(program, step.params) : bytes};
}

double MachineRates::*rate_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::kGemm:
      return &MachineRates::gemm_flops;
    case WorkKind::kAttentionForward:
      return &MachineRates::attention_forward_flops;
    case WorkKind::kAttentionBackward:
      return &MachineRates::attention_backward_flops;
    case WorkKind::kMemory:
      return &MachineRates::memory_bytes;
    case WorkKind::kActivation:
      return &MachineRates::activation_bytes;
    case WorkKind::kUpdate:
      return &MachineRates::update_bytes;
  }
  RC_CHECK(false, "work of kind {}", static_cast<int>(kind));
}

double seconds_of(const model::ModelGraph& graph, const program::Program& program, const Step& step,
                  const MachineRates& rates) {
  const Work work = work_of(graph, program, step);
  return rates.step_s + work.amount / (rates.*rate_of(work.kind));
}

Timing price(const model::ModelGraph& graph, const program::Program& program,
             const MachineRates& rates) {
  Timing timing;
  for (const Step& step : program.steps) {
    const double seconds = seconds_of(graph, program, step, rates);
    switch (step.kind) {
      case StepKind::kReplay:
        timing.replay_s += seconds;
        break;
      case StepKind::kClip:
      case StepKind::kUpdate:
        timing.update_s += seconds;
        break;
      case StepKind::kLoadBatch:
      case StepKind::kForward:
        timing.forward_s += seconds;
        break;
      default:
        timing.backward_s += seconds;
        break;
    }
  }
  return timing;
}

}  // namespace refrain::cost
