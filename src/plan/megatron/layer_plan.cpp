#include "plan/megatron/layer_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/parallel_for.h"
#include "cost/shape/model_size.h"
#include "mcore/memory/rank_stream.h"
#include "plan/megatron/held.h"
#include "plan/megatron/layer_choices.h"
#include "plan/megatron/rank_layers.h"

namespace refrain::plan {
namespace {

constexpr int kMostReplays = 6;  // of a rank
constexpr double kSameSeconds = 1e-9;
constexpr double kNever = std::numeric_limits<double>::infinity();

mcore::Run with(mcore::Run run, const mcore::Recompute& depths,
                std::vector<mcore::Recompute> layers) {
  run.recompute = depths;
  run.layer_recompute = std::move(layers);
  return run;
}

/// What a rank needs of a device, as far as the prediction is sure.
Bytes needed(const RankBytes& rank) { return std::max(rank.upper, rank.reserved); }

class Planning {
 public:
  Planning(const mcore::Run& run, const cost::DeviceProfile& device, Bytes budget,
           const PredictedSetting& chosen, const cost::Calibration& calibration)
      : run_(run), device_(device), budget_(budget), chosen_(chosen), calibration_(calibration) {
    for (const cost::KindCount& each : cost::layer_kinds(run)) {
      kinds_.push_back(layer_choices(run, device, each.kind));
      plan_.num_examined += kinds_.back().examined;
    }
    const std::vector<mcore::Recompute> none(run.model.layers.size());
    const cost::StepTime time = step_time(none);
    for (int64_t rank = 0; rank < run.parallel.pipeline; ++rank) {
      ranks_.emplace_back(run, rank, kinds_, time.ranks[rank], device, calibration);
    }
    plan_.layers = mcore::layer_recompute_of(run, chosen.recompute);
    plan_.depths = chosen.recompute;
    plan_.prediction = chosen.prediction;
    of_setting_ = step_time(plan_.layers);
    plan_.setting_step_s = of_setting_.step_s;
  }

  std::optional<LayerPlan> run() {
    if (!bound_ranks()) return std::nullopt;
    std::vector<int64_t> order(ranks_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return least_s_[a] > least_s_[b]; });
    for (const int64_t rank : order) plan_rank(rank);
    plan_.prediction.time = step_time(plan_.layers);
    plan_.lower_bound_s = step_s_of(least_s_[order.front()]);
    if (plan_.prediction.verdict() != Verdict::kFits) return std::nullopt;
    return std::move(plan_);
  }

 private:
  /// Seconds that a micro-batch of each rank takes at least. False where a rank has no plan.
  bool bound_ranks() {
    std::vector<std::optional<double>> least(ranks_.size());
    beside_.resize(ranks_.size());
    parallel_for(ranks_.size(), [&](size_t rank) {
      const auto stream = mcore::memory::rank_stream(with(run_, chosen_.recompute, plan_.layers),
                                                     static_cast<int64_t>(rank), /*num_steps=*/2);
      const HeldForBackward held = least_held_for_backward(stream);
      beside_[rank] = held.beside;
      least[rank] = ranks_[rank].least_seconds(budget_ - held.beside, budget_ - held.beside_head);
    });
    for (const std::optional<double>& seconds : least) {
      if (!seconds) return false;
      least_s_.push_back(*seconds);
    }
    return true;
  }

  double step_s_of(double micro_batch_s) const {
    cost::StepParts parts = plan_.prediction.time.parts;
    const double scale = micro_batch_s / plan_.prediction.time.micro_batch.seconds();
    parts.micro_batches_s *= scale;
    parts.bubble_s *= scale;
    return parts.sum();
  }

  cost::StepTime step_time(const std::vector<mcore::Recompute>& layers) const {
    return cost::step_time(with(run_, chosen_.recompute, layers), device_,
                           {.calibration = calibration_});
  }

  double setting_s(int64_t rank) const {
    return cost::micro_batch_time(of_setting_.ranks[rank], device_, calibration_).seconds();
  }

  void place(int64_t rank, const ChoiceOfLayer& choices, std::vector<mcore::Recompute>& layers) {
    for (size_t i = 0; i < choices.size(); ++i) {
      const RankLayers::Layer& layer = ranks_[rank].layers()[i];
      layers[layer.index] = layer.kind->choices[choices[i]].recompute;
    }
  }

  /// Replays what the search proposes until it fits; what it then needs beside what layers hold
  /// for backward is what the next proposal reckons with.
  void plan_rank(int64_t rank) {
    const RankLayers& layers = ranks_[rank];
    RankBytes& best = plan_.prediction.ranks[rank];
    double best_s = best.verdict == Verdict::kFits ? setting_s(rank) : kNever;
    Bytes beside = beside_[rank];
    ChoiceOfLayer last;
    for (int i = 0; i < kMostReplays && best_s > target_s_ * (1 + kSameSeconds); ++i) {
      const auto choices = layers.within(budget_ - beside);
      if (!choices || *choices == last) break;
      if (layers.seconds(*choices) >= best_s * (1 - kSameSeconds)) break;
      last = *choices;
      std::vector<mcore::Recompute> proposed = plan_.layers;
      place(rank, *choices, proposed);
      RankBytes bytes = predict_rank(with(run_, chosen_.recompute, proposed), rank, budget_);
      ++plan_.num_replays;
      beside = needed(bytes) - layers.retained(*choices);
      if (bytes.verdict != Verdict::kFits) continue;
      best = std::move(bytes);
      best_s = layers.seconds(*choices);
      plan_.layers = std::move(proposed);
    }
    target_s_ = std::max(target_s_, best_s);
  }

  const mcore::Run& run_;
  const cost::DeviceProfile& device_;
  Bytes budget_;
  const PredictedSetting& chosen_;
  cost::Calibration calibration_;
  cost::StepTime of_setting_;
  std::vector<KindChoices> kinds_;
  std::vector<RankLayers> ranks_;
  std::vector<Bytes> beside_;    // by rank: held beside what layers keep, whatever the plan
  std::vector<double> least_s_;  // by rank
  double target_s_ = 0;          // of the slowest rank so far: others need not be faster
  LayerPlan plan_;
};

}  // namespace

mcore::Run planned(const mcore::Run& run, const LayerPlan& plan) {
  return with(run, plan.depths, plan.layers);
}

std::optional<LayerPlan> plan_layers(const mcore::Run& run, const cost::DeviceProfile& device,
                                     Bytes budget, const PredictedSetting& chosen,
                                     const cost::Calibration& calibration) {
  if (run.offload.num_layers > 0 || run.model.family != mcore::Family::kDecoder) {
    return std::nullopt;
  }
  return Planning(run, device, budget, chosen, calibration).run();
}

}  // namespace refrain::plan
