#include "program/liveness.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"

namespace refrain::program {
namespace {

constexpr int32_t kNever = -1;

class Lifetimes {
 public:
  Lifetimes(const model::ModelGraph& graph, Draft draft)
      : graph_(graph),
        program_(std::move(draft.program)),
        first_(program_.values.size(), kNever),
        last_(program_.values.size(), kNever),
        resident_(program_.values.size(), false),
        taken_(program_.values.size(), false),
        continues_(program_.values.size(), false) {
    for (ValueId v : program_.residents) resident_[v] = true;
    find_uses();
    hold(draft.held_until_backward_of);
  }

  Program place() {
    const std::vector<int32_t> loss = loss_steps();
    for (size_t v = 0; v < program_.values.size(); ++v) {
      Value& value = program_.values[v];
      if (value.account != Account::kTransientActivations) continue;
      if (last_[v] > loss.at(value.micro_batch)) value.account = Account::kSavedActivations;
    }
    for (int32_t s = 0; s < num_steps(); ++s) place_takeovers(s);
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (resident_[v]) continue;
      const auto id = static_cast<ValueId>(v);
      RC_CHECK(first_[v] != kNever, "nobody writes {}",
               describe(graph_, program_, program_.values[v]));
      if (!continues_[v]) program_.steps[first_[v]].born.push_back(id);
      if (!taken_[v]) program_.steps[last_[v]].freed.push_back(id);
    }
    return std::move(program_);
  }

 private:
  int32_t num_steps() const { return static_cast<int32_t>(program_.steps.size()); }

  void find_uses() {
    for (int32_t s = 0; s < num_steps(); ++s) {
      const Step& step = program_.steps[s];
      for (const auto* list :
           {&step.reads, &step.writes, &step.write_gradients, &step.param_gradients}) {
        for (ValueId v : *list) {
          if (v == kNoValue) continue;
          if (first_[v] == kNever) first_[v] = s;
          last_[v] = s;
        }
      }
    }
  }

  void hold(const std::vector<Draft::Held>& held) {
    std::map<std::tuple<int32_t, OpRef>, int32_t> backward_of;
    for (int32_t s = 0; s < num_steps(); ++s) {
      const Step& step = program_.steps[s];
      const bool is_backward =
          step.kind == StepKind::kBackward || step.kind == StepKind::kBackwardInputs;
      if (is_backward) backward_of[{step.micro_batch, step.op}] = s;
    }
    for (const Draft::Held& h : held) {
      last_[h.value] = std::max(last_[h.value], backward_of.at({h.micro_batch, h.op}));
    }
  }

  std::vector<int32_t> loss_steps() const {
    std::vector<int32_t> steps;
    for (int32_t s = 0; s < num_steps(); ++s) {
      if (program_.steps[s].kind == StepKind::kLoss) steps.push_back(s);
    }
    return steps;
  }

  void take_over(Step& step, ValueId from, ValueId to) {
    step.takeovers.push_back({from, to});
    taken_[from] = true;
    continues_[to] = true;
  }

  void place_takeovers(int32_t s) {
    Step& step = program_.steps[s];
    const bool runs_forward = step.kind == StepKind::kForward || step.kind == StepKind::kReplay;
    const bool runs_backward = step.kind == StepKind::kBackward ||
                               step.kind == StepKind::kBackwardInputs ||
                               step.kind == StepKind::kLoss;
    if (!runs_forward && !runs_backward) return;
    const model::Op& op = graph_.graph(step.op.block).ops[step.op.op];
    if (runs_forward && op.in_place_read) {
      const ValueId from = step.reads[*op.in_place_read];
      RC_CHECK(last_[from] == s && first_[step.writes[0]] == s, "{} is needed after {}",
               describe(graph_, program_, program_.values[from]), describe(graph_, program_, step));
      take_over(step, from, step.writes[0]);
    }
    if (runs_backward && op.gradient_reuse && !step.writes.empty()) {
      const ValueId from = step.reads[op.gradient_reuse->from];
      const ValueId to = step.writes[op.gradient_reuse->read];
      if (last_[from] == s && first_[to] == s) take_over(step, from, to);
    }
  }

  const model::ModelGraph& graph_;
  Program program_;
  std::vector<int32_t> first_, last_;  // step of the first write and of the last use
  std::vector<bool> resident_;
  std::vector<bool> taken_;      // ends by handing its storage over
  std::vector<bool> continues_;  // begins in another's storage
};

}  // namespace

Program place_lifetimes(const model::ModelGraph& graph, Draft draft) {
  return Lifetimes(graph, std::move(draft)).place();
}

}  // namespace refrain::program
