// The ways to treat one layer of a Megatron rank: what each keeps for backward, what it replays.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.h"
#include "cost/device/device_profile.h"
#include "cost/price/replay.h"
#include "mcore/run.h"

namespace refrain::plan {

struct LayerChoice {
  mcore::Recompute recompute;
  Bytes retained;           // of one micro-batch between its forward and its backward, in blocks
  cost::ReplayTime replay;  // of one micro-batch
};

/// The choices of one kind of layer that no other one beats, the most bytes first.
struct KindChoices {
  mcore::LayerKind kind;
  std::vector<LayerChoice> choices;
  int64_t examined = 0;
};

/// Every subset of labels, and the whole layer. Bytes are measured: what one more such layer adds
/// to a small run of the same sizes when its backward begins.
KindChoices layer_choices(const mcore::Run& run, const cost::DeviceProfile& device,
                          const mcore::LayerKind& kind);

}  // namespace refrain::plan
