// A choice is measured, not estimated: a model of the embedding, the run and the head is lowered
// with it, and its Program is replayed as bytes. What is found holds in the whole model, because
// the run's input and output are kept: no step of another block reads anything inside the run, so
// the run's bytes above its surroundings are the same wherever it stands.

#include "plan/frontier.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "base/error.h"
#include "config/scan.h"
#include "cost/program/price.h"
#include "ledger/ledger.h"

namespace refrain::plan {
namespace {

using ledger::Balances;
using model::ModelGraph;
using program::Account;
using program::Action;
using program::Program;
using program::Step;
using program::StepKind;

constexpr int kMostMicroBatches = kNumPhases;  // more are like the middle one

Phase phase_of(int32_t micro_batch, int64_t num_micro_batches) {
  if (micro_batch + 1 == num_micro_batches) return Phase::kLast;
  return micro_batch == 0 ? Phase::kFirst : Phase::kMiddle;
}

Bytes& at(PerPhase<Bytes>& values, Phase phase) { return values[static_cast<size_t>(phase)]; }

/// What recompute cannot change.
Bytes fixed(const Balances& balances) {
  Bytes sum;
  for (const Account account : {Account::kParameters, Account::kTables, Account::kOptimizer,
                                Account::kGradients, Account::kBatch}) {
    sum += balances[static_cast<size_t>(account)];
  }
  return sum;
}

/// A Program with its bytes and, for each step, the block and pass it belongs to.
class Walk {
 public:
  struct Place {
    int32_t block = -1;  // -1: loading a batch, clipping, updates after clipping
    bool backward = false;
    Phase phase = Phase::kFirst;
  };

  Walk(const ModelGraph& graph, const program::ActionTable& actions,
       const program::Schedule& schedule)
      : graph_(graph),
        schedule_(schedule),
        program_(program::lower(graph, {.actions = actions}, schedule)),
        timeline_(ledger::simulate(program_)) {
    for (const Step& step : program_.steps) {
      places_.push_back(next(places_.empty() ? Place() : places_.back(), step));
    }
    // A replay serves the backward that follows it, which may be a later block's of its run.
    for (size_t s = places_.size(); s-- > 0;) {
      if (program_.steps[s].kind == StepKind::kReplay) places_[s] = places_.at(s + 1);
    }
  }

  const ModelGraph& graph() const { return graph_; }
  const Program& program() const { return program_; }
  const Place& place(size_t step) const { return places_[step]; }
  size_t num_steps() const { return places_.size(); }
  const Balances& balances_during(size_t step) const { return timeline_.entries[step].during; }
  Bytes during(size_t step) const { return ledger::total(balances_during(step)); }
  const Balances& before(size_t step) const {
    return step == 0 ? timeline_.residents : timeline_.entries[step - 1].after;
  }
  bool begins(size_t step) const {
    if (places_[step].block < 0) return false;
    if (step == 0) return true;
    const Place &here = places_[step], &last = places_[step - 1];
    return here.block != last.block || here.backward != last.backward || here.phase != last.phase;
  }

 private:
  Place next(const Place& last, const Step& step) const {
    switch (step.kind) {
      case StepKind::kLoadBatch:
      case StepKind::kClip:
        return {};
      case StepKind::kUpdate:  // after the backward it belongs to, or after clipping
        return last;
      default:
        break;
    }
    Place place = {.block = step.op.block,
                   .phase = phase_of(step.micro_batch, schedule_.num_micro_batches)};
    place.backward = step.kind != StepKind::kForward && step.kind != StepKind::kLoss;
    return place;
  }

  const ModelGraph& graph_;
  program::Schedule schedule_;
  Program program_;
  ledger::Timeline timeline_;
  std::vector<Place> places_;
};

program::Schedule shortened(program::Schedule schedule) {
  schedule.num_micro_batches = std::min<int64_t>(schedule.num_micro_batches, kMostMicroBatches);
  return schedule;
}

/// Parameter gradients that a pass has born and freed so far.
struct GradientFlow {
  Bytes born, freed;

  void begin(const Program& program, const Step& step) { born += sum(program, step.born); }
  void end(const Program& program, const Step& step) { freed += sum(program, step.freed); }

 private:
  static Bytes sum(const Program& program, const std::vector<program::ValueId>& values) {
    Bytes bytes;
    for (const program::ValueId v : values) {
      const program::Value& value = program.values[v];
      if (value.account == Account::kGradients) bytes += value.bytes();
    }
    return bytes;
  }
};

/// Raises the peaks of every phase by a moment of one: a Program of a single micro-batch bears a
/// gradient and frees it; of several, the first bears it, the last frees it, the others find it.
/// Under clipping none is freed before the end.
void raise(PerPhase<Bytes>& peaks, Bytes without_gradients, const GradientFlow& flow,
           const program::Schedule& schedule) {
  const Bytes freed = schedule.clip ? Bytes() : flow.freed;
  const bool single = schedule.num_micro_batches == 1;
  const auto to = [&](Phase phase, Bytes bytes) {
    at(peaks, phase) = std::max(at(peaks, phase), bytes);
  };
  to(Phase::kLast, without_gradients + (single ? flow.born : Bytes()) - freed);
  if (single) return;
  to(Phase::kFirst, without_gradients + flow.born);
  to(Phase::kMiddle, without_gradients);
}

Bytes gradients(const Balances& balances) {
  return balances[static_cast<size_t>(Account::kGradients)];
}

/// Blocks first..last as one run, from a walk over a single micro-batch.
Profile profile_of(const Walk& walk, int32_t first, int32_t last, const FrontierRequest& request) {
  Profile profile;
  Bytes before_run, fixed_before;  // without gradients
  GradientFlow flow;
  bool in_run = false, in_backward = false;
  for (size_t s = 0; s < walk.num_steps(); ++s) {
    const Walk::Place& place = walk.place(s);
    const Step& step = walk.program().steps[s];
    const Balances& before = walk.before(s);
    const bool inside = first <= place.block && place.block <= last;
    const bool enters = inside && (!in_run || place.backward != in_backward);
    if (in_run && (!inside || enters) && !in_backward) {
      // The forward has just ended: what is held now, beyond what was, is retained.
      profile.retained = ledger::total(before) - fixed(before) - before_run;
    }
    if (enters) {
      flow = {};
      fixed_before = fixed(before) - gradients(before);
      if (!place.backward) before_run = ledger::total(before) - fixed(before);
    }
    in_run = inside;
    in_backward = inside && place.backward;
    if (!inside) continue;
    flow.begin(walk.program(), step);
    raise(place.backward ? profile.backward_peak : profile.forward_peak,
          walk.during(s) - gradients(walk.balances_during(s)) - fixed_before - before_run, flow,
          request.schedule);
    flow.end(walk.program(), step);
    if (step.kind == StepKind::kReplay) {
      profile.replay_s += cost::seconds_of(walk.graph(), walk.program(), step, request.rates);
    }
  }
  return profile;
}

/// The embedding, `length` layers of one graph, the head.
ModelGraph probe_of(const ModelGraph& model, int32_t graph, int32_t length) {
  ModelGraph probe = model;
  probe.blocks = {model.blocks.front()};
  for (int32_t i = 0; i < length; ++i) probe.blocks.push_back({.graph = graph, .layer = i});
  probe.blocks.push_back(model.blocks.back());
  return probe;
}

/// Ops whose outputs backward reads, each one thing to keep or to drop, with those that write in
/// place over their output (RoPE over a norm): their statistics alone are not worth a choice. The
/// block's own output is the next block's to read and stays.
struct Unit {
  std::vector<model::TensorId> tensors;  // that are dropped with it
  std::vector<std::string> names;        // those that were kept
};
std::vector<Unit> units_of(const ModelGraph& probe) {
  constexpr int32_t kBlock = 1;
  const model::LayerGraph& layer = probe.graph(kBlock);
  const Program program =
      program::lower(probe, {.actions = program::save_all(probe)}, {.num_micro_batches = 1});
  std::set<model::TensorId> kept;
  for (const program::Value& value : program.values) {
    if (value.block == kBlock && value.account == Account::kSavedActivations) {
      kept.insert(value.tensor);
    }
  }
  kept.erase(*layer.output);
  std::vector<Unit> units;
  Unit unit;
  for (const model::Op& op : layer.ops) {
    unit.tensors.insert(unit.tensors.end(), op.writes.begin(), op.writes.end());
    for (const model::TensorId t : op.writes) {
      if (kept.contains(t)) unit.names.push_back(layer.tensors[t].name);
    }
    const bool hands_over = &op != &layer.ops.back() && (&op + 1)->in_place_read &&
                            (&op + 1)->reads[*(&op + 1)->in_place_read] == op.writes[0];
    if (hands_over) continue;
    if (!unit.names.empty()) units.push_back(std::move(unit));
    unit = {};
  }
  return units;
}

template <class Compare>
bool all_of_bytes(const Profile& a, const Profile& b, Compare compare) {
  if (!compare(a.retained, b.retained)) return false;
  for (int p = 0; p < kNumPhases; ++p) {
    if (!compare(a.forward_peak[p], b.forward_peak[p])) return false;
    if (!compare(a.backward_peak[p], b.backward_peak[p])) return false;
  }
  return true;
}

bool dominates(const Choice& a, const Choice& b) {
  return a.num_blocks() == b.num_blocks() && a.profile.replay_s <= b.profile.replay_s &&
         all_of_bytes(a.profile, b.profile, [](Bytes x, Bytes y) { return x <= y; });
}

/// Adds the choice unless one that is there is as good in everything; drops those it beats.
void offer(std::vector<Choice>& choices, Choice choice) {
  for (const Choice& other : choices) {
    if (dominates(other, choice)) return;
  }
  std::erase_if(choices, [&](const Choice& other) { return dominates(choice, other); });
  choices.push_back(std::move(choice));
}

class Prober {
 public:
  explicit Prober(const FrontierRequest& request) : request_(request) {}

  Frontier layer(int32_t graph) {
    Frontier frontier;
    const ModelGraph probe = probe_of(request_.graph, graph, 1);
    const std::vector<Unit> units = units_of(probe);
    RC_CHECK(units.size() <= kMostUnits, "{} activations to choose from", units.size());
    Bytes all_kept;
    for (uint32_t mask = 0; mask < uint32_t{1} << units.size(); ++mask) {
      Choice choice = subset(probe, units, mask);
      if (mask == 0) all_kept = choice.profile.retained;
      if (std::has_single_bit(mask)) {
        frontier.activations.push_back({config::joined(choice.recomputed, " + "),
                                        all_kept - choice.profile.retained,
                                        choice.profile.replay_s});
      }
      offer(frontier.choices, std::move(choice));
      ++frontier.examined;
    }
    for (int32_t length = 2; length <= request_.longest_run; ++length) {
      offer(frontier.choices, run(graph, length));
      ++frontier.examined;
    }
    return frontier;
  }

  Frontier only_choice(int32_t block) {
    const ModelGraph probe = probe_of(request_.graph, request_.graph.blocks[1].graph, 1);
    const int32_t of_probe = block == 0 ? 0 : static_cast<int32_t>(probe.blocks.size()) - 1;
    const program::ActionTable actions = program::save_all(probe);
    const Walk walk(probe, actions, {});
    Choice choice{.actions = {actions[of_probe]},
                  .profile = profile_of(walk, of_probe, of_probe, request_)};
    return {.choices = {std::move(choice)}, .examined = 1};
  }

 private:
  static constexpr size_t kMostUnits = 20;

  Choice subset(const ModelGraph& probe, const std::vector<Unit>& units, uint32_t mask) {
    program::ActionTable actions = program::save_all(probe);
    Choice choice;
    for (size_t u = 0; u < units.size(); ++u) {
      if (!(mask >> u & 1)) continue;
      for (const model::TensorId t : units[u].tensors) actions[1][t] = Action::kRecompute;
      choice.recomputed.insert(choice.recomputed.end(), units[u].names.begin(),
                               units[u].names.end());
    }
    const Walk walk(probe, actions, {});
    choice.actions = {actions[1]};
    choice.profile = profile_of(walk, 1, 1, request_);
    return choice;
  }

  /// Layers that keep nothing but the output of the last.
  Choice run(int32_t graph, int32_t length) {
    const ModelGraph probe = probe_of(request_.graph, graph, length);
    program::ActionTable actions = program::save_all(probe);
    Choice choice;
    for (int32_t b = 1; b <= length; ++b) {
      actions[b].assign(actions[b].size(), Action::kRecompute);
      if (b == length) actions[b][*probe.graph(b).output] = Action::kSave;
      choice.actions.push_back(actions[b]);
    }
    const Walk walk(probe, actions, {});
    choice.profile = profile_of(walk, 1, length, request_);
    return choice;
  }

  const FrontierRequest& request_;
};

}  // namespace

std::vector<Frontier> frontiers(const FrontierRequest& request) {
  const ModelGraph& graph = request.graph;
  RC_CHECK(graph.blocks.size() >= 3, "{} blocks: no layer", graph.blocks.size());
  std::vector<std::optional<Frontier>> made(graph.graphs.size());
  Prober prober(request);
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    std::optional<Frontier>& frontier = made[graph.blocks[b].graph];
    if (frontier) continue;
    frontier = graph.blocks[b].layer ? prober.layer(graph.blocks[b].graph)
                                     : prober.only_choice(static_cast<int32_t>(b));
  }
  std::vector<Frontier> frontiers;
  for (std::optional<Frontier>& frontier : made) {
    frontiers.push_back(frontier ? *std::move(frontier) : Frontier());
  }
  return frontiers;
}

FixedBytes fixed_bytes(const FrontierRequest& request) {
  const Walk walk(request.graph, program::save_all(request.graph), shortened(request.schedule));
  FixedBytes bytes;
  bytes.forward.resize(request.graph.blocks.size());
  bytes.backward.resize(request.graph.blocks.size());
  for (size_t s = 0; s < walk.num_steps(); ++s) {
    const Walk::Place& place = walk.place(s);
    if (place.block < 0) {
      bytes.outside = std::max(bytes.outside, walk.during(s));
    } else if (walk.begins(s)) {
      at((place.backward ? bytes.backward : bytes.forward)[place.block], place.phase) =
          fixed(walk.before(s));
    }
  }
  return bytes;
}

}  // namespace refrain::plan
