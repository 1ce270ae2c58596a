// Seconds of a training step of a Megatron run on a device.
//
// Every op of a layer is priced alone (price/pricer.h). A pipeline rank's micro-batch is the sum of
// its layers; GPU and host run beside each other, so a pass takes about the longer of the two:
//
//   pass  = (gpu^6 + host^6)^(1/6)                   where they meet, both are felt
//   step  = m micro-batches + (p - 1) / v of one more (bubble) + sends + data-parallel part
//           + optimizer + fixed
//
// Recompute adds to the backward pass, and so stretches the bubble too. Rates and their fit:
// data/devices/README.md. What to expect: about 8 % (median) of an absolute step time, 1 to 2
// points of the cost of one recompute setting against the same run without it (compare.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/finding.h"
#include "base/quantity.h"
#include "cost/device/device_profile.h"
#include "cost/price/replay.h"
#include "mcore/run.h"

namespace refrain::cost {

/// One micro-batch on one rank: seconds of GPU and links, host work in host units.
struct LayerTime {
  double forward_s = 0, backward_s = 0, replay_s = 0;
  double host_forward = 0, host_backward = 0, host_replay = 0;

  LayerTime& operator+=(const LayerTime& other);
  friend LayerTime operator*(double factor, const LayerTime& time);
};

struct KindTime {
  mcore::LayerKind kind;
  int64_t count = 0;  // layers of the model
  LayerTime layer;    // one of them
};

/// One pass of a rank over one micro-batch.
struct PassTime {
  double gpu_s = 0, host_s = 0;
  double wall_s() const;
};

/// What a step's seconds are made of; they add up to it.
struct StepParts {
  double micro_batches_s = 0, bubble_s = 0, sends_s = 0, data_parallel_s = 0, optimizer_s = 0,
         fixed_s = 0;
  double sum() const;
};

/// What a measured step says about a device against its profile (compare.h): both multiply seconds.
struct Calibration {
  double gpu = 1, host = 1;
};

/// Of one rank.
struct MicroBatchTime {
  PassTime forward, backward;
  double seconds() const { return forward.wall_s() + backward.wall_s(); }
  /// Host work takes over 0.8 of the GPU's time: launches decide, and predictions are worth less.
  bool host_bound() const;
};
MicroBatchTime micro_batch_time(const LayerTime& load, const DeviceProfile& device,
                                const Calibration& calibration = {});

struct StepTime {
  double step_s = 0;
  StepParts parts;
  int64_t num_micro_batches = 0;
  MicroBatchTime micro_batch;
  std::vector<KindTime> kinds;
  LayerTime head;  // loss heads of one micro-batch, on the last rank
  /// One micro-batch of each pipeline rank that may take longest: of all, in order, where the run
  /// says how its layers are laid out or planned (rank_load.h).
  std::vector<LayerTime> ranks;
  Flops flops;  // of a step, as published_flops
  double tflops_per_gpu = 0;
  Findings notes;  // what of the run the model does not cover
};

struct StepOptions {
  ReplayPolicy policy = ReplayPolicy::kRegion;
  Calibration calibration;
};

StepTime step_time(const mcore::Run& run, const DeviceProfile& device,
                   const StepOptions& options = {});

/// A layer of that kind, and the loss heads, without calibration.
LayerTime layer_time(const mcore::Run& run, const DeviceProfile& device,
                     const mcore::LayerKind& kind, ReplayPolicy policy);
LayerTime head_time(const mcore::Run& run, const DeviceProfile& device);

}  // namespace refrain::cost
