#include "cost/price/replay.h"

#include <algorithm>

#include "cost/ops/layer_ops.h"

namespace refrain::cost {
namespace {

LabelSet discard_labels() {
  LabelSet labels;
  for (const LabelRow& row : label_rows()) {
    if (row.discards_output) labels.insert(row.label);
  }
  return labels;
}

/// The selected labels whose regions contain the op and that do something: ordinary checkpoints are
/// skipped in a layer that a graph captures.
LabelSet active_labels(const Op& op, const Pricer& pricer, LabelSet selected) {
  const LabelSet labels = op.labels & selected;
  const bool skips_plain = pricer.captures(op.scope) && pricer.full_graph_factor() == 1;
  return skips_plain ? labels & discard_labels() : labels;
}

int num_replays(const Op& op, LabelSet active, const Selection& selection, ReplayPolicy policy) {
  const int regions = selection.full ? 1 : active.count();
  if (policy == ReplayPolicy::kRegion) return regions;
  return regions > 0 && !op.tail ? 1 : 0;
}

/// Regions of each active label; a layer has one of each, but as many norms as it has.
double region_units(const Ops& ops, const Pricer& pricer, LabelSet selected,
                    const HostRates& rates) {
  double units = 0;
  for (const LabelRow& row : label_rows()) {
    int regions = 0;
    for (const Op& op : ops) {
      if (active_labels(op, pricer, selected).contains(row.label)) ++regions;
    }
    if (row.label != Label::kLayernorm && regions > 1) regions = 1;
    units += regions * (row.discards_output ? rates.discard_units : rates.plain_units);
  }
  return units;
}

}  // namespace

Selection selection_of(const mcore::Recompute& recompute) {
  using Method = mcore::Recompute::Method;
  Selection selection;
  if (recompute.method == Method::kNone) return selection;
  if (recompute.method != Method::kSelective) {
    selection.full = true;
    if (recompute.method == Method::kUniform) {
      selection.layers_together = static_cast<double>(std::max<int64_t>(1, recompute.num_layers));
    }
    return selection;
  }
  for (const std::string& name : recompute.labels) {
    if (const auto label = label_named(name)) selection.labels.insert(*label);
  }
  return selection;
}

ReplayTime replay_time(const Ops& ops, const Pricer& pricer, const Selection& selection,
                       ReplayPolicy policy) {
  ReplayTime time;
  for (const Op& op : ops) {
    const LabelSet active = active_labels(op, pricer, selection.labels);
    const int replays = num_replays(op, active, selection, policy);
    if (replays == 0) continue;
    time.gpu_s += replays * pricer.seconds(op).forward;
    time.host_units += replays * pricer.host_units(op).forward;
    if (!selection.full && !(active & discard_labels()).empty()) {
      time.gpu_s += pricer.cast_seconds(op.recast);
    }
  }
  const HostRates& rates = pricer.host_rates();
  const double regions = selection.full ? rates.plain_units / selection.layers_together
                                        : region_units(ops, pricer, selection.labels, rates);
  time.host_units += regions * pricer.full_graph_factor();
  return time;
}

ReplayTime replay_of(const mcore::Run& run, const DeviceProfile& device,
                     const mcore::LayerKind& kind, const Selection& selection,
                     ReplayPolicy policy) {
  return replay_time(layer_ops(run, kind), Pricer(run, device), selection, policy);
}

std::vector<PricedOp> priced_ops(const mcore::Run& run, const DeviceProfile& device,
                                 const mcore::LayerKind& kind) {
  const Pricer pricer(run, device);
  std::vector<PricedOp> priced;
  for (Op& op : layer_ops(run, kind)) {
    priced.push_back({op, pricer.seconds(op), pricer.host_units(op)});
  }
  return priced;
}

}  // namespace refrain::cost
