#include "cost/step_time.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cost/ops/layer_ops.h"
#include "cost/price/run_notes.h"
#include "cost/rank_load.h"
#include "cost/shape/model_size.h"
#include "cost/shape/rank_shape.h"

namespace refrain::cost {
namespace {

constexpr double kSharpness = 6;        // of the maximum of GPU and host
constexpr double kHostBoundFrom = 0.8;  // of the GPU's time
constexpr double kHeadUnits = 30;       // host units of a loss head, each way
// Pipeline sends: how much of a transfer each way is felt. Interleaved schedules send ahead.
constexpr double kPlainSends = 1, kInterleavedSends = 0.3;
// Data parallelism, bytes a parameter: float32 gradients are reduced and scattered, bf16 weights
// gathered. Without the distributed optimizer gradients go both ways, and weights do not go at all.
constexpr double kGradientBytes = 4, kWeightBytes = 2;
// Fully sharded, a micro-batch: weights gathered for both passes, bf16 gradients scattered.
constexpr double kShardedWeightBytes = 4, kShardedGradientBytes = 2;
// Adam in float32 with bf16 weights: reads gradient, weight and two moments, writes the last three
// and both weights; and the passes for norm and clipping.
constexpr double kOptimizerBytes = 36;

/// Every overlap hides more of what is spread over more micro-batches.
double hideable(double micro_batches) { return std::min(1.0, 0.5 + micro_batches / 8); }

/// One step of `run`, with what all its parts need.
struct StepModel {
  const mcore::Run& run;
  const DeviceProfile& device;
  Pricer pricer;
  double micro_batches;

  double gpus() const { return static_cast<double>(run.parallel.num_gpus); }
  double pipeline() const { return static_cast<double>(run.parallel.pipeline); }
  double link_for(double num_gpus) const {
    return num_gpus <= static_cast<double>(device.peaks.nvlink_domain) ? pricer.nvlink()
                                                                       : pricer.nic();
  }
};

double sends_s(const StepModel& model) {
  const mcore::Parallel& parallel = model.run.parallel;
  if (parallel.pipeline == 1) return 0;
  const double bytes =
      2 * rank_shape(model.run).sequence_tokens * static_cast<double>(model.run.model.hidden);
  const double stages = static_cast<double>(parallel.virtual_stages);
  const double felt = parallel.virtual_stages > 1 ? kInterleavedSends * model.micro_batches * stages
                                                  : kPlainSends * model.micro_batches;
  return (felt + 2 * (model.pipeline() - 1)) * bytes / model.link_for(model.gpus());
}

/// Parameters of one rank, and what it exchanges of them and updates.
struct LocalParameters {
  double dense, routed;                    // of one rank
  double dense_replicas, routed_replicas;  // ranks that have the same
};

LocalParameters local_parameters(const StepModel& model) {
  const mcore::Parallel& parallel = model.run.parallel;
  const Parameters all = parameters(model.run);
  const auto experts = static_cast<double>(parallel.expert * parallel.expert_tensor);
  return {
      .dense = all.dense / (static_cast<double>(parallel.tensor) * model.pipeline()),
      .routed = all.routed / (experts * model.pipeline()),
      .dense_replicas = static_cast<double>(parallel.data),
      .routed_replicas = std::max(1.0, std::floor(model.gpus() / (model.pipeline() * experts)))};
}

double sharded_s(const StepModel& model) {
  const Parameters all = parameters(model.run);
  const double gradients = model.run.optimizer.trains_adapters_only ? 0 : kShardedGradientBytes;
  const double bytes = (kShardedWeightBytes + gradients) *
                       (all.dense + all.routed / static_cast<double>(model.run.parallel.expert));
  return model.micro_batches * bytes / model.pricer.nvlink() *
         (1 - model.device.rates.links.hidden_sharded);
}

double data_parallel_s(const StepModel& model) {
  const mcore::Optimizer& optimizer = model.run.optimizer;
  if (optimizer.fsdp) return sharded_s(model);
  if (optimizer.trains_adapters_only) return 0;
  const LocalParameters local = local_parameters(model);
  const auto sent = [](double count, double replicas) { return count * (replicas - 1) / replicas; };
  const double seconds_a_byte =
      (sent(local.dense, local.dense_replicas) + sent(local.routed, local.routed_replicas)) /
      model.link_for(std::floor(model.gpus() / model.pipeline()));
  const double hidden = model.device.rates.links.hidden_data * hideable(model.micro_batches);
  const double gradients = kGradientBytes * (optimizer.overlap_grad_reduce ? 1 - hidden : 1);
  if (!optimizer.distributed) return 2 * gradients * seconds_a_byte;
  const double weights = kWeightBytes * (optimizer.overlap_param_gather ? 1 - hidden : 1);
  return (gradients + weights) * seconds_a_byte;
}

double optimizer_s(const StepModel& model) {
  const mcore::Optimizer& optimizer = model.run.optimizer;
  if (optimizer.trains_adapters_only) return 0;
  double updated = 0;
  if (optimizer.fsdp) {
    const Parameters all = parameters(model.run);
    updated = (all.dense + all.routed) / model.gpus();
  } else {
    const LocalParameters local = local_parameters(model);
    updated = optimizer.distributed
                  ? local.dense / local.dense_replicas + local.routed / local.routed_replicas
                  : local.dense + local.routed;
  }
  return model.pricer.memory_seconds(kOptimizerBytes * updated);
}

LayerTime layer_time(const Ops& ops, const Pricer& pricer, const Selection& selection,
                     ReplayPolicy policy) {
  LayerTime time;
  for (const Op& op : ops) {
    const PassSeconds seconds = pricer.seconds(op);
    const HostUnits host = pricer.host_units(op);
    time.forward_s += seconds.forward;
    time.backward_s += seconds.backward;
    time.host_forward += host.forward;
    time.host_backward += host.backward;
  }
  const ReplayTime replay = replay_time(ops, pricer, selection, policy);
  time.replay_s = replay.gpu_s;
  time.host_replay = replay.host_units;
  return time;
}

LayerTime head_time(const mcore::Run& run, const Pricer& pricer) {
  const double heads = 1 + static_cast<double>(run.model.mtp_layers);
  const double columns =
      static_cast<double>(mcore::padded_vocab(run)) / static_cast<double>(run.parallel.tensor);
  const PassSeconds seconds = pricer.head_seconds(rank_shape(run).tokens, columns);
  const double units = heads * kHeadUnits * pricer.full_graph_factor();
  return {.forward_s = heads * seconds.forward,
          .backward_s = heads * seconds.backward,
          .host_forward = units,
          .host_backward = units};
}

/// Of each decoder layer.
std::vector<LayerTime> times_of_layers(const mcore::Run& run, const Pricer& pricer,
                                       ReplayPolicy policy) {
  struct Known {
    mcore::LayerKind kind;
    mcore::Recompute recompute;
    LayerTime time;
  };
  const std::vector<mcore::Recompute> recomputes =
      run.layer_recompute.empty() ? mcore::layer_recompute_of(run, run.recompute)
                                  : run.layer_recompute;
  RC_CHECK(recomputes.size() == run.model.layers.size(), "{} layers, {} plans",
           run.model.layers.size(), recomputes.size());
  std::vector<Known> known;
  std::vector<LayerTime> times;
  for (size_t i = 0; i < run.model.layers.size(); ++i) {
    const mcore::LayerKind& kind = run.model.layers[i];
    const mcore::Recompute& recompute = recomputes[i];
    auto found = std::find_if(known.begin(), known.end(), [&](const Known& each) {
      return each.kind == kind && each.recompute == recompute;
    });
    if (found == known.end()) {
      known.push_back({kind, recompute,
                       layer_time(layer_ops(run, kind), pricer, selection_of(recompute), policy)});
      found = known.end() - 1;
    }
    times.push_back(found->time);
  }
  return times;
}

/// Of the rank that takes longest.
MicroBatchTime slowest(const std::vector<LayerTime>& loads, const DeviceProfile& device,
                       const Calibration& calibration) {
  MicroBatchTime most;
  for (const LayerTime& load : loads) {
    const MicroBatchTime time = micro_batch_time(load, device, calibration);
    if (time.seconds() > most.seconds()) most = time;
  }
  return most;
}

StepParts step_parts(const StepModel& model, double micro_batch_s) {
  const double bubbles =
      (model.pipeline() - 1) / static_cast<double>(model.run.parallel.virtual_stages);
  return {.micro_batches_s = model.micro_batches * micro_batch_s,
          .bubble_s = bubbles * micro_batch_s,
          .sends_s = sends_s(model),
          .data_parallel_s = data_parallel_s(model),
          .optimizer_s = optimizer_s(model),
          .fixed_s = model.device.rates.step_fixed_s};
}

}  // namespace

LayerTime& LayerTime::operator+=(const LayerTime& other) {
  forward_s += other.forward_s;
  backward_s += other.backward_s;
  replay_s += other.replay_s;
  host_forward += other.host_forward;
  host_backward += other.host_backward;
  host_replay += other.host_replay;
  return *this;
}

LayerTime operator*(double factor, const LayerTime& time) {
  return {factor * time.forward_s,    factor * time.backward_s,    factor * time.replay_s,
          factor * time.host_forward, factor * time.host_backward, factor * time.host_replay};
}

double PassTime::wall_s() const {
  const double longer = std::max(gpu_s, host_s);
  if (longer <= 0) return 0;
  return longer *
         std::pow(std::pow(gpu_s / longer, kSharpness) + std::pow(host_s / longer, kSharpness),
                  1 / kSharpness);
}

double StepParts::sum() const {
  return micro_batches_s + bubble_s + sends_s + data_parallel_s + optimizer_s + fixed_s;
}

bool MicroBatchTime::host_bound() const {
  return forward.host_s + backward.host_s > kHostBoundFrom * (forward.gpu_s + backward.gpu_s);
}

LayerTime layer_time(const mcore::Run& run, const DeviceProfile& device,
                     const mcore::LayerKind& kind, ReplayPolicy policy) {
  return layer_time(layer_ops(run, kind), Pricer(run, device), selection_of(run.recompute), policy);
}

LayerTime head_time(const mcore::Run& run, const DeviceProfile& device) {
  return head_time(run, Pricer(run, device));
}

MicroBatchTime micro_batch_time(const LayerTime& load, const DeviceProfile& device,
                                const Calibration& calibration) {
  const double unit_s = calibration.host * device.rates.host.unit_s;
  return {.forward = {calibration.gpu * load.forward_s, unit_s * load.host_forward},
          .backward = {calibration.gpu * (load.backward_s + load.replay_s),
                       unit_s * (load.host_backward + load.host_replay)}};
}

StepTime step_time(const mcore::Run& run, const DeviceProfile& device, const StepOptions& options) {
  StepTime time;
  time.num_micro_batches = mcore::num_micro_batches(run);
  const StepModel model = {run, device, Pricer(run, device),
                           static_cast<double>(time.num_micro_batches)};
  const Selection selection = selection_of(run.recompute);
  for (const auto& [kind, count] : layer_kinds(run)) {
    time.kinds.push_back(
        {kind, count, layer_time(layer_ops(run, kind), model.pricer, selection, options.policy)});
  }
  time.head = head_time(run, model.pricer);
  const bool even = run.layer_recompute.empty() && run.parallel.layout.empty();
  time.ranks = even ? even_rank_loads(run, time.kinds, time.head)
                    : rank_loads_of_layers(run, times_of_layers(run, model.pricer, options.policy),
                                           time.kinds, time.head);
  time.micro_batch = slowest(time.ranks, device, options.calibration);
  time.parts = step_parts(model, time.micro_batch.seconds());
  time.step_s = time.parts.sum();
  time.flops = published_flops(run);
  time.tflops_per_gpu = time.flops.count() / 1e12 / (model.gpus() * time.step_s);
  time.notes = run_notes(run, device);
  return time;
}

}  // namespace refrain::cost
