// The layers of one pipeline rank as a knapsack: which choice for each, so that what is held in
// flight leaves room and a micro-batch takes least.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/step_time.h"
#include "plan/megatron/layer_choices.h"

namespace refrain::plan {

/// By layer of the rank, in the order of `RankLayers::layers`: an index of its kind's choices.
using ChoiceOfLayer = std::vector<int32_t>;

class RankLayers {
 public:
  struct Layer {
    int64_t index;  // among the model's decoder layers
    int64_t chunk;
    const KindChoices* kind;
  };

  /// `without_replay`: the rank's load for a micro-batch, heads and prediction depths included.
  RankLayers(const mcore::Run& run, int64_t rank, const std::vector<KindChoices>& kinds,
             const cost::LayerTime& without_replay, const cost::DeviceProfile& device,
             const cost::Calibration& calibration = {});

  const std::vector<Layer>& layers() const { return layers_; }

  /// The cheapest choices found that hold no more than `room` for backward at any moment of the
  /// schedule; nothing where none do.
  std::optional<ChoiceOfLayer> within(Bytes room) const;

  /// No choices that hold at most `room` whenever a backward begins, and `head_room` when that of a
  /// loss head does, take fewer seconds; nothing where none hold so little. Proof: the pass time is
  /// convex in the replays, so a tangent is below it; and every moment alone must be kept to.
  std::optional<double> least_seconds(Bytes room, Bytes head_room) const;

  /// Seconds of one micro-batch, forward and backward.
  double seconds(const ChoiceOfLayer& choices) const;
  /// Held for backward at the worst moment.
  Bytes retained(const ChoiceOfLayer& choices) const;

 private:
  /// Passes in flight by chunk; sums over `divisor` moments.
  struct Weights {
    std::vector<int64_t> in_flight;
    int64_t divisor = 1;
  };
  /// Of the wall time by what is replayed.
  struct Slope {
    double gpu = 1, host = 0;
    double price(const cost::ReplayTime& replay) const {
      return gpu * replay.gpu_s + host * replay.host_units;
    }
  };

  const LayerChoice& choice(size_t layer, int32_t index) const {
    return layers_[layer].kind->choices[static_cast<size_t>(index)];
  }
  Bytes held(const Weights& weights, const ChoiceOfLayer& choices) const;
  cost::ReplayTime replay_of(const ChoiceOfLayer& choices) const;
  double wall_s(const cost::ReplayTime& replay) const;
  Slope slope_at(const ChoiceOfLayer& choices) const;
  /// Choices and a lower bound of their price.
  std::optional<std::pair<ChoiceOfLayer, double>> solve_at(const Weights& weights,
                                                           const Slope& slope, Bytes room) const;
  std::optional<ChoiceOfLayer> fitted(const Weights& weights, const Slope& slope, Bytes room) const;
  void upgrade(ChoiceOfLayer& choices, Bytes room) const;
  /// In each chunk the layers of a kind that hold least come first: their replays are at work when
  /// later layers are gone.
  void in_order(ChoiceOfLayer& choices) const;

  const cost::DeviceProfile& device_;
  cost::Calibration calibration_;
  cost::LayerTime load_;
  std::vector<Layer> layers_;
  static std::vector<Weights> unbeaten(std::vector<std::vector<int64_t>> rows);

  std::vector<Weights> moments_;       // that others do not cover
  std::vector<Weights> head_moments_;  // of loss heads
  Weights mean_;
};

}  // namespace refrain::plan
