// Megatron's labels name regions of a layer; here each becomes the actions that free what the
// region frees, and the region itself for the `region` policy
// (Megatron-LM, transformer_layer.py, attention.py and core/recompute.py; semantics as of 2026-08).

#include "plan/presets.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace refrain::plan {
namespace {

using config::Label;
using config::RecomputeSetting;
using model::LayerGraph;
using model::ModelGraph;
using model::Module;
using model::Op;
using program::Action;
using program::OpRef;

/// How Megatron recomputes what a label names.
enum class Mechanism {
  kCheckpoint,     // runs the region again; its output stays, its consumer has saved it
  kDiscardOutput,  // frees the output too and restores it before its consumer's backward
};

Mechanism mechanism_of(Label label) {
  switch (label) {
    case Label::kCoreAttn:
    case Label::kMlp:
      return Mechanism::kCheckpoint;
    case Label::kLayernorm:
    case Label::kPointwise:
      return Mechanism::kDiscardOutput;
  }
  RC_CHECK(false, "label {}", static_cast<int>(label));
}

/// Ops first..last of one layer, inclusive.
struct Range {
  int32_t first, last;
  bool contains(const Range& other) const { return first <= other.first && other.last <= last; }
};

bool carries(const Op& op, Label label) {
  return std::find(op.labels.begin(), op.labels.end(), label) != op.labels.end();
}

/// Maximal runs of ops for which `belongs` holds.
template <class F>
std::vector<Range> runs_of(const LayerGraph& layer, F belongs) {
  std::vector<Range> runs;
  for (int32_t o = 0; o < static_cast<int32_t>(layer.ops.size()); ++o) {
    if (!belongs(layer.ops[o])) continue;
    if (!runs.empty() && runs.back().last + 1 == o) {
      runs.back().last = o;
    } else {
      runs.push_back({o, o});
    }
  }
  return runs;
}

/// The op whose backward comes first among those that want a discarded output back: the end of the
/// module that consumes it (Megatron hooks the module's output), or within a module its consumer.
int32_t restore_before(const LayerGraph& layer, int32_t op) {
  const int32_t consumer = op + 1;
  if (layer.ops[op].module != Module::kNone) return consumer;
  const Module module = layer.ops.at(consumer).module;
  for (const Range& run : runs_of(layer, [&](const Op& o) { return o.module == module; })) {
    if (run.first <= consumer && consumer <= run.last) return run.last;
  }
  RC_CHECK(false, "no module consumes {}", layer.ops[op].name);
}

/// One layer's regions under a set of labels, in forward order; one inside another is left out.
struct LayerRegion {
  Range ops;
  int32_t replay_before;
};
std::vector<LayerRegion> layer_regions(const LayerGraph& layer, const std::vector<Label>& labels) {
  std::vector<LayerRegion> regions;
  const auto add = [&](Range ops, int32_t replay_before) {
    const bool covered = std::any_of(regions.begin(), regions.end(),
                                     [&](const LayerRegion& r) { return r.ops.contains(ops); });
    if (!covered) regions.push_back({ops, replay_before});
  };
  for (Mechanism mechanism : {Mechanism::kCheckpoint, Mechanism::kDiscardOutput}) {
    for (Label label : labels) {
      if (mechanism_of(label) != mechanism) continue;
      for (const Range& run : runs_of(layer, [&](const Op& o) { return carries(o, label); })) {
        if (mechanism == Mechanism::kCheckpoint) {
          add(run, run.last);
          continue;
        }
        for (int32_t o = run.first; o <= run.last; ++o) add({o, o}, restore_before(layer, o));
      }
    }
  }
  std::sort(regions.begin(), regions.end(),
            [](const LayerRegion& a, const LayerRegion& b) { return a.ops.first < b.ops.first; });
  return regions;
}

bool is_read_outside(const LayerGraph& layer, const Range& range, model::TensorId tensor) {
  if (tensor == layer.output) return true;
  for (int32_t o = 0; o < static_cast<int32_t>(layer.ops.size()); ++o) {
    const auto& reads = layer.ops[o].reads;
    const bool inside = range.first <= o && o <= range.last;
    if (!inside && std::find(reads.begin(), reads.end(), tensor) != reads.end()) return true;
  }
  return false;
}

/// Drops what an op inside a checkpoint wrote, unless the op has an output that stays: replaying it
/// for the rest (a fused attention for its log-sum-exp) would cost the whole op and free nothing.
void drop_inner(const LayerGraph& layer, const Range& range, std::vector<Action>& actions) {
  for (int32_t o = range.first; o <= range.last; ++o) {
    const auto& writes = layer.ops[o].writes;
    const bool stays = std::any_of(writes.begin(), writes.end(), [&](model::TensorId t) {
      return is_read_outside(layer, range, t);
    });
    if (stays) continue;
    for (model::TensorId t : writes) actions[t] = Action::kRecompute;
  }
}

void select(const ModelGraph& graph, const std::vector<Label>& labels,
            program::RecomputePlan& plan) {
  for (int32_t b = 0; b < static_cast<int32_t>(graph.blocks.size()); ++b) {
    if (!graph.blocks[b].layer) continue;
    const LayerGraph& layer = graph.graph(b);
    for (const LayerRegion& region : layer_regions(layer, labels)) {
      plan.regions.push_back(
          {{b, region.ops.first}, {b, region.ops.last}, {b, region.replay_before}});
    }
    for (Label label : labels) {
      for (const Range& run : runs_of(layer, [&](const Op& o) { return carries(o, label); })) {
        if (mechanism_of(label) == Mechanism::kCheckpoint) {
          drop_inner(layer, run, plan.actions[b]);
          continue;
        }
        for (int32_t o = run.first; o <= run.last; ++o) {
          for (model::TensorId t : layer.ops[o].writes) plan.actions[b][t] = Action::kRecompute;
        }
      }
    }
  }
}

/// Blocks first..last become one checkpoint: what they write is dropped, but for the last output.
void checkpoint_blocks(const ModelGraph& graph, int32_t first, int32_t last,
                       program::RecomputePlan& plan) {
  for (int32_t b = first; b <= last; ++b) {
    plan.actions[b].assign(plan.actions[b].size(), Action::kRecompute);
  }
  plan.actions[last][*graph.graph(last).output] = Action::kSave;
  const OpRef end{last, static_cast<int32_t>(graph.graph(last).ops.size()) - 1};
  plan.regions.push_back({{first, 0}, end, end});
}

void checkpoint_all(const ModelGraph& graph, const RecomputeSetting& setting,
                    program::RecomputePlan& plan) {
  std::vector<int32_t> layers;
  for (int32_t b = 0; b < static_cast<int32_t>(graph.blocks.size()); ++b) {
    if (graph.blocks[b].layer) layers.push_back(b);
  }
  const bool uniform = setting.method == config::FullMethod::kUniform;
  const auto num_layers = static_cast<int64_t>(layers.size());
  const int64_t covered = uniform ? num_layers : std::min(setting.num_layers, num_layers);
  const int64_t group = uniform ? setting.num_layers : 1;
  for (int64_t first = 0; first < covered; first += group) {
    const int64_t last = std::min(first + group, covered) - 1;
    checkpoint_blocks(graph, layers[first], layers[last], plan);
  }
}

}  // namespace

program::RecomputePlan make_plan(const ModelGraph& graph, const RecomputeSetting& setting,
                                 config::ReplayPolicy policy) {
  program::RecomputePlan plan{.policy = policy, .actions = program::save_all(graph)};
  switch (setting.granularity) {
    case config::Granularity::kNone:
      break;
    case config::Granularity::kSelective:
      select(graph, setting.labels, plan);
      break;
    case config::Granularity::kFull:
      checkpoint_all(graph, setting, plan);
      break;
  }
  return plan;
}

}  // namespace refrain::plan
