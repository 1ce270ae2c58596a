// Lowering: graph + plan + schedule -> Program, in three passes.
//
// 1. Emission writes the steps in order: the forward of a micro-batch, its loss, its backward with
//    the replays in it, and the updates. A replayed activation is a new Value, and whoever reads it
//    from then on reads that one. Under `demand` a backward step first ensures what it reads: what
//    is not there is replayed, after what its op reads has been ensured in turn, so each op runs at
//    most once more a micro-batch and as late as possible. Under `region` whole ranges run again.
// 2. Liveness finds the last step that touches each Value: it is born at its first write and freed
//    after its last use, or hands its storage over where the op allows it. What forward wrote and
//    nobody reads in backward thereby ends in forward: nothing has to decide what is "saved".
// 3. Accounts: an activation that lives into backward was saved, the others were transient.
//
// Emission visits each op a constant number of times a micro-batch and liveness each operand once:
// linear in the size of the Program.

#include "program/lower.h"

#include <algorithm>

#include "base/error.h"
#include "program/liveness.h"

namespace refrain::program {
namespace {

using model::LayerGraph;
using model::ModelGraph;
using model::Op;
using model::OpKind;
using model::TensorId;

struct TensorRef {
  int32_t block;
  TensorId tensor;
};

/// One entry a tensor of the model.
template <class T>
class PerTensor {
 public:
  PerTensor(const ModelGraph& graph, T initial) {
    for (size_t b = 0; b < graph.blocks.size(); ++b) {
      table_.emplace_back(graph.graph(b).tensors.size(), initial);
    }
  }
  T& operator[](TensorRef ref) { return table_[ref.block][ref.tensor]; }

 private:
  std::vector<std::vector<T>> table_;
};

class Emission {
 public:
  Emission(const ModelGraph& graph, const RecomputePlan& plan, const Schedule& schedule);
  Draft run();

 private:
  const Op& op_at(OpRef ref) const { return graph_.graph(ref.block).ops[ref.op]; }
  TensorRef resolve(int32_t block, TensorId tensor) const;
  std::vector<ValueId> current_of(OpRef ref, const std::vector<TensorId>& tensors);
  std::vector<ValueId> params_of(OpRef ref) const;
  template <class F>
  void for_each_op(F visit) const;
  template <class F>
  void for_each_op_reversed(F visit) const;

  ValueId add_value(Value value);
  ValueId add_activation(TensorRef ref, bool replayed);
  ValueId gradient_of(TensorRef ref, bool& accumulate);
  ValueId gradient_of_param(int32_t param, bool& accumulate);
  Step& add_step(StepKind kind, OpRef ref);

  void reserve();
  void add_residents();
  void start_micro_batch(int32_t micro_batch);
  void forward(OpRef ref);
  void loss(OpRef ref);
  void settle_availability();
  void ensure(TensorRef ref);
  void replay(OpRef ref);
  void replay_regions(OpRef before);
  void backward(OpRef ref);
  void fill_backward(Step& step, OpRef ref);
  void fill_param_gradients(Step& step, OpRef ref);
  void update_finished(OpRef ref);
  void update(int32_t param);
  void clip_and_update();

  const ModelGraph& graph_;
  const RecomputePlan& plan_;
  const Schedule& schedule_;
  Draft draft_;
  std::vector<std::vector<int32_t>> writer_;  // [block][tensor] -> op that writes it

  // Of the micro-batch that is being emitted.
  int32_t micro_batch_ = -1;
  ValueId tokens_ = kNoValue;
  ValueId targets_ = kNoValue;
  PerTensor<ValueId> current_;  // the Value a reader of the tensor reads now
  PerTensor<char> available_;   // current_ is live, or will be as far as liveness keeps it
  PerTensor<ValueId> gradient_;
  bool last_micro_batch() const { return micro_batch_ + 1 == schedule_.num_micro_batches; }

  std::vector<std::vector<ValueId>> param_state_;  // [param]: weight, [master], moments
  std::vector<ValueId> param_gradient_;
  std::vector<int> pending_contributions_;  // to each parameter's gradient in this micro-batch
};

Emission::Emission(const ModelGraph& graph, const RecomputePlan& plan, const Schedule& schedule)
    : graph_(graph),
      plan_(plan),
      schedule_(schedule),
      current_(graph, kNoValue),
      available_(graph, 0),
      gradient_(graph, kNoValue) {
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    const LayerGraph& block = graph.graph(b);
    std::vector<int32_t>& writers = writer_.emplace_back(block.tensors.size(), -1);
    for (size_t o = 0; o < block.ops.size(); ++o) {
      for (TensorId t : block.ops[o].writes) writers[t] = static_cast<int32_t>(o);
    }
  }
}

TensorRef Emission::resolve(int32_t block, TensorId tensor) const {
  if (tensor != graph_.graph(block).input) return {block, tensor};
  RC_CHECK(block > 0 && graph_.graph(block - 1).output, "block {} has no input", block);
  return {block - 1, *graph_.graph(block - 1).output};
}

std::vector<ValueId> Emission::current_of(OpRef ref, const std::vector<TensorId>& tensors) {
  std::vector<ValueId> values;
  for (TensorId t : tensors) values.push_back(current_[resolve(ref.block, t)]);
  return values;
}

std::vector<ValueId> Emission::params_of(OpRef ref) const {
  std::vector<ValueId> values;
  for (model::ParamId p : op_at(ref).params) {
    values.push_back(param_state_[draft_.program.params.index[ref.block][p]].front());
  }
  return values;
}

template <class F>
void Emission::for_each_op(F visit) const {
  for (int32_t b = 0; b < static_cast<int32_t>(graph_.blocks.size()); ++b) {
    const auto num_ops = static_cast<int32_t>(graph_.graph(b).ops.size());
    for (int32_t o = 0; o < num_ops; ++o) visit(OpRef{b, o});
  }
}

template <class F>
void Emission::for_each_op_reversed(F visit) const {
  for (auto b = static_cast<int32_t>(graph_.blocks.size()) - 1; b >= 0; --b) {
    for (auto o = static_cast<int32_t>(graph_.graph(b).ops.size()) - 1; o >= 0; --o) {
      visit(OpRef{b, o});
    }
  }
}

ValueId Emission::add_value(Value value) {
  value.micro_batch = value.kind >= ValueKind::kTokens ? micro_batch_ : -1;
  draft_.program.values.push_back(std::move(value));
  return static_cast<ValueId>(draft_.program.values.size() - 1);
}

ValueId Emission::add_activation(TensorRef ref, bool replayed) {
  const model::TensorSpec& spec = graph_.graph(ref.block).tensors[ref.tensor];
  return current_[ref] = add_value(
             {.kind = ValueKind::kActivation,
              .account = replayed ? Account::kReplayedActivations : Account::kTransientActivations,
              .dtype = spec.dtype,
              .shape = spec.shape,
              .block = ref.block,
              .tensor = ref.tensor,
              .replayed = replayed});
}

ValueId Emission::gradient_of(TensorRef ref, bool& accumulate) {
  ValueId& gradient = gradient_[ref];
  accumulate = gradient != kNoValue;
  if (!accumulate) {
    const model::TensorSpec& spec = graph_.graph(ref.block).tensors[ref.tensor];
    gradient = add_value({.kind = ValueKind::kActivationGradient,
                          .account = Account::kActivationGradients,
                          .dtype = spec.dtype,
                          .shape = spec.shape,
                          .block = ref.block,
                          .tensor = ref.tensor});
  }
  return gradient;
}

ValueId Emission::gradient_of_param(int32_t param, bool& accumulate) {
  ValueId& gradient = param_gradient_[param];
  accumulate = gradient != kNoValue;
  if (!accumulate) {
    gradient = add_value(
        {.kind = ValueKind::kParameterGradient,
         .account = Account::kGradients,
         .dtype = graph_.compute == model::DType::kF64 ? model::DType::kF64 : model::DType::kF32,
         .shape = draft_.program.params.specs[param].shape,
         .param = param});
  }
  return gradient;
}

Step& Emission::add_step(StepKind kind, OpRef ref) {
  Step step{.kind = kind, .op = ref, .micro_batch = micro_batch_};
  return draft_.program.steps.emplace_back(std::move(step));
}

void Emission::add_residents() {
  Program& program = draft_.program;
  const model::DType wide =
      graph_.compute == model::DType::kF64 ? model::DType::kF64 : model::DType::kF32;
  for (size_t p = 0; p < program.params.specs.size(); ++p) {
    const model::ParamSpec& spec = program.params.specs[p];
    std::vector<ValueId>& state = param_state_.emplace_back();
    const auto add = [&](ValueKind kind, Account account, model::DType dtype) {
      state.push_back(add_value({.kind = kind,
                                 .account = account,
                                 .dtype = dtype,
                                 .shape = spec.shape,
                                 .param = static_cast<int32_t>(p)}));
      program.residents.push_back(state.back());
    };
    if (!spec.trained) {
      add(ValueKind::kTable, Account::kTables, wide);
      continue;
    }
    add(ValueKind::kParameter, Account::kParameters, graph_.compute);
    if (!schedule_.training) continue;
    if (graph_.masters) add(ValueKind::kMaster, Account::kParameters, wide);
    add(ValueKind::kFirstMoment, Account::kOptimizer, wide);
    add(ValueKind::kSecondMoment, Account::kOptimizer, wide);
  }
  param_gradient_.assign(program.params.specs.size(), kNoValue);
}

void Emission::start_micro_batch(int32_t micro_batch) {
  micro_batch_ = micro_batch;
  current_ = PerTensor<ValueId>(graph_, kNoValue);
  gradient_ = PerTensor<ValueId>(graph_, kNoValue);
  pending_contributions_.assign(draft_.program.params.specs.size(), 0);
  for_each_op([&](OpRef ref) {
    for (model::ParamId p : op_at(ref).params) {
      ++pending_contributions_[draft_.program.params.index[ref.block][p]];
    }
  });
  const auto add_batch = [&](ValueKind kind) {
    return add_value({.kind = kind,
                      .account = Account::kBatch,
                      .dtype = model::DType::kI32,
                      .shape = graph_.batch_shape});
  };
  tokens_ = add_batch(ValueKind::kTokens);
  targets_ = add_batch(ValueKind::kTargets);
  add_step(StepKind::kLoadBatch, {}).writes = {tokens_, targets_};
}

void Emission::forward(OpRef ref) {
  const Op& op = op_at(ref);
  Step& step = add_step(StepKind::kForward, ref);
  step.reads = current_of(ref, op.reads);
  if (op.kind == OpKind::kEmbedding) step.reads.push_back(tokens_);
  for (TensorId t : op.writes) step.writes.push_back(add_activation({ref.block, t}, false));
  step.params = params_of(ref);
  step.scratch = op.forward_scratch;
}

void Emission::loss(OpRef ref) {
  const Op& op = op_at(ref);
  Step& step = add_step(StepKind::kLoss, ref);
  step.reads = current_of(ref, op.reads);
  step.reads.push_back(targets_);
  step.params = params_of(ref);
  step.scratch_account = Account::kLossHead;
  step.scratch = schedule_.training ? op.backward_scratch : op.forward_scratch;
  if (!schedule_.training) return;
  bool accumulate = false;
  step.writes = {gradient_of(resolve(ref.block, op.reads[0]), accumulate)};
  step.accumulate = {accumulate};
  fill_param_gradients(step, ref);
  update_finished(ref);
}

// What a backward step may read without a replay. An in-place op has destroyed what it read.
void Emission::settle_availability() {
  for_each_op([&](OpRef ref) {
    const Op& op = op_at(ref);
    for (TensorId t : op.writes) {
      available_[{ref.block, t}] =
          plan_.policy == ReplayPolicy::kRegion || plan_.actions[ref.block][t] == Action::kSave;
    }
    if (op.in_place_read) available_[resolve(ref.block, op.reads[*op.in_place_read])] = 0;
  });
}

void Emission::ensure(TensorRef ref) {
  if (available_[ref]) return;
  RC_CHECK(plan_.policy == ReplayPolicy::kDemand, "region replay left out block {} tensor {}",
           ref.block, ref.tensor);
  const OpRef producer{ref.block, writer_[ref.block][ref.tensor]};
  for (TensorId t : op_at(producer).reads) ensure(resolve(producer.block, t));
  replay(producer);
}

void Emission::replay(OpRef ref) {
  const Op& op = op_at(ref);
  const bool all_anew = plan_.policy == ReplayPolicy::kRegion;
  Step& step = add_step(StepKind::kReplay, ref);
  step.reads = current_of(ref, op.reads);
  if (op.kind == OpKind::kEmbedding) step.reads.push_back(tokens_);
  for (TensorId t : op.writes) {
    const TensorRef write{ref.block, t};
    // A kept output is written once more, with the same bits.
    const bool anew = all_anew || !available_[write];
    step.writes.push_back(anew ? add_activation(write, true) : current_[write]);
    available_[write] = 1;
  }
  step.params = params_of(ref);
  step.scratch = op.forward_scratch;
  if (op.in_place_read) available_[resolve(ref.block, op.reads[*op.in_place_read])] = 0;
}

void Emission::replay_regions(OpRef before) {
  for (const Region& region : plan_.regions) {
    if (region.replay_before != before) continue;
    for_each_op([&](OpRef ref) {
      if (ref >= region.first && ref <= region.last) replay(ref);
    });
    // A checkpoint's output stays with it until its own backward is through.
    if (region.last == before) {
      const ValueId output = draft_.program.steps.back().writes.front();
      draft_.held_until_backward_of.push_back({output, region.first, micro_batch_});
    }
  }
}

void Emission::backward(OpRef ref) {
  const Op& op = op_at(ref);
  if (op.kind == OpKind::kHeadLoss) return;  // the loss step was its backward
  if (plan_.policy == ReplayPolicy::kRegion) replay_regions(ref);
  for (TensorId t : op.backward_reads) ensure(resolve(ref.block, t));
  if (op.splits_backward) {
    Step& weights = add_step(StepKind::kBackwardWeights, ref);
    weights.reads = current_of(ref, op.backward_reads);
    weights.write_gradients = {gradient_[{ref.block, op.writes[0]}]};
    weights.params = params_of(ref);
    weights.scratch = op.backward_scratch;
    fill_param_gradients(weights, ref);
    fill_backward(add_step(StepKind::kBackwardInputs, ref), ref);
  } else {
    Step& step = add_step(StepKind::kBackward, ref);
    step.reads = current_of(ref, op.backward_reads);
    if (op.kind == OpKind::kEmbedding) step.reads.push_back(tokens_);
    fill_param_gradients(step, ref);
    fill_backward(step, ref);
    const bool nothing_to_do = step.param_gradients.empty() &&
                               step.writes.size() == op.shared_gradient_reads.size() &&
                               op.kind == OpKind::kAdd;
    if (nothing_to_do) draft_.program.steps.pop_back();
  }
  update_finished(ref);
}

void Emission::fill_backward(Step& step, OpRef ref) {
  const Op& op = op_at(ref);
  step.params = params_of(ref);
  step.scratch = op.backward_scratch;
  for (TensorId t : op.writes) step.write_gradients.push_back(gradient_[{ref.block, t}]);
  RC_CHECK(step.write_gradients.at(0) != kNoValue, "no gradient reaches {}", op.name);
  for (int i = 0; i < static_cast<int>(op.reads.size()); ++i) {
    const TensorRef read = resolve(ref.block, op.reads[i]);
    const auto& shared = op.shared_gradient_reads;
    bool accumulate = false;
    if (std::find(shared.begin(), shared.end(), i) != shared.end()) {
      RC_CHECK(gradient_[read] == kNoValue, "{} shares a gradient that exists", op.name);
      gradient_[read] = step.write_gradients[0];
      step.writes.push_back(gradient_[read]);
    } else {
      step.writes.push_back(gradient_of(read, accumulate));
    }
    step.accumulate.push_back(accumulate);
  }
}

void Emission::fill_param_gradients(Step& step, OpRef ref) {
  for (model::ParamId p : op_at(ref).params) {
    const int32_t param = draft_.program.params.index[ref.block][p];
    if (!draft_.program.params.specs[param].trained) continue;
    bool accumulate = false;
    step.param_gradients.push_back(gradient_of_param(param, accumulate));
    step.accumulate_params.push_back(accumulate);
  }
}

void Emission::update_finished(OpRef ref) {
  for (model::ParamId p : op_at(ref).params) {
    const int32_t param = draft_.program.params.index[ref.block][p];
    const bool finished = --pending_contributions_[param] == 0 && last_micro_batch();
    if (finished && !schedule_.clip && draft_.program.params.specs[param].trained) update(param);
  }
}

void Emission::update(int32_t param) {
  Step& step = add_step(StepKind::kUpdate, {});
  step.micro_batch = -1;
  step.param = param;
  step.reads = {param_gradient_[param]};
  step.params = param_state_[param];
}

void Emission::clip_and_update() {
  Step& step = add_step(StepKind::kClip, {});
  step.micro_batch = -1;
  for (ValueId gradient : param_gradient_) {
    if (gradient != kNoValue) step.reads.push_back(gradient);
  }
  for (size_t p = 0; p < param_gradient_.size(); ++p) {
    if (param_gradient_[p] != kNoValue) update(static_cast<int32_t>(p));
  }
}

// Most Programs have fewer steps; moving a Step costs more than its place.
void Emission::reserve() {
  size_t num_ops = 0;
  for (size_t b = 0; b < graph_.blocks.size(); ++b) num_ops += graph_.graph(b).ops.size();
  const size_t num_params = draft_.program.params.specs.size();
  const size_t steps = schedule_.num_micro_batches * (3 * num_ops + 2) + num_params;
  draft_.program.steps.reserve(steps);
  draft_.program.values.reserve(4 * num_params + steps);
}

Draft Emission::run() {
  draft_.program.params = model::collect_params(graph_);
  reserve();
  add_residents();
  for (int32_t m = 0; m < schedule_.num_micro_batches; ++m) {
    start_micro_batch(m);
    for_each_op(
        [&](OpRef ref) { op_at(ref).kind == OpKind::kHeadLoss ? loss(ref) : forward(ref); });
    if (!schedule_.training) continue;
    settle_availability();
    for_each_op_reversed([&](OpRef ref) { backward(ref); });
  }
  if (schedule_.training && schedule_.clip) clip_and_update();
  return std::move(draft_);
}

}  // namespace

Program lower(const ModelGraph& graph, const RecomputePlan& plan, const Schedule& schedule) {
  RC_CHECK(schedule.num_micro_batches >= 1, "{} micro-batches", schedule.num_micro_batches);
  return place_lifetimes(graph, Emission(graph, plan, schedule).run());
}

}  // namespace refrain::program
