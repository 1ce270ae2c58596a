// Seconds of running a part of a layer's forward once more in backward.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/ops/op.h"
#include "cost/price/pricer.h"

namespace refrain::cost {

/// Megatron-Core's regions run again as a whole, nested ones twice. On demand, an op runs again
/// once, and only where backward reads its output or something made of it.
enum class ReplayPolicy : uint8_t { kRegion, kDemand };

/// What is recomputed of a layer.
struct Selection {
  bool full = false;
  double layers_together = 1;  // where full: layers in one region
  LabelSet labels;             // where not full
};

/// What the run recomputes of the layers that it recomputes. Labels that name no ops here
/// ("mhc") are left out.
Selection selection_of(const mcore::Recompute& recompute);

struct ReplayTime {
  double gpu_s = 0;  // GPU and links
  double host_units = 0;
};

/// Replay of one layer for one micro-batch: forward of the selected ops, the casts that consumers
/// of discarded outputs repeat, and the framework's work around each region.
ReplayTime replay_time(const Ops& ops, const Pricer& pricer, const Selection& selection,
                       ReplayPolicy policy);

/// The same of one layer kind of a run.
ReplayTime replay_of(const mcore::Run& run, const DeviceProfile& device,
                     const mcore::LayerKind& kind, const Selection& selection, ReplayPolicy policy);

/// An op of a layer with its price.
struct PricedOp {
  Op op;
  PassSeconds seconds;
  HostUnits host;
};

/// A layer's ops in forward's order: for a planner that decides op by op. Replaying a set of them
/// takes the sum of their forward.
std::vector<PricedOp> priced_ops(const mcore::Run& run, const DeviceProfile& device,
                                 const mcore::LayerKind& kind);

}  // namespace refrain::cost
