#include "plan/megatron/rank_layers.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "cost/step_time.h"
#include "mcore/memory/schedule.h"
#include "plan/knapsack.h"

namespace refrain::plan {
namespace {

constexpr int kFittings = 12;  // of a solution for mean moments to the worst one
constexpr int kTangents = 3;

}  // namespace

RankLayers::RankLayers(const mcore::Run& run, int64_t rank, const std::vector<KindChoices>& kinds,
                       const cost::LayerTime& without_replay, const cost::DeviceProfile& device,
                       const cost::Calibration& calibration)
    : device_(device), calibration_(calibration), load_(without_replay) {
  for (int64_t chunk = 0; chunk < run.parallel.virtual_stages; ++chunk) {
    const mcore::StageLayers stage = mcore::stage_layers(run, rank, chunk);
    for (int64_t i = stage.first; i < stage.first + stage.count; ++i) {
      const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const KindChoices& each) {
        return each.kind == run.model.layers[i];
      });
      RC_CHECK(kind != kinds.end(), "a layer of no kind");
      layers_.push_back({i, chunk, &*kind});
    }
  }
  mean_ = {std::vector<int64_t>(run.parallel.virtual_stages), 0};
  const bool last_rank = rank == run.parallel.pipeline - 1;
  std::vector<std::vector<int64_t>> rows, head_rows;
  for (const mcore::memory::BackwardMoment& moment : mcore::memory::backward_moments(run, rank)) {
    for (size_t chunk = 0; chunk < moment.in_flight.size(); ++chunk) {
      mean_.in_flight[chunk] += moment.in_flight[chunk];
    }
    ++mean_.divisor;
    rows.push_back(moment.in_flight);
    if (last_rank && moment.virtual_stage == run.parallel.virtual_stages - 1) {
      head_rows.push_back(moment.in_flight);
    }
  }
  moments_ = unbeaten(std::move(rows));
  head_moments_ = unbeaten(std::move(head_rows));
}

/// Moments at which some chunk has more in flight than at any other one.
std::vector<RankLayers::Weights> RankLayers::unbeaten(std::vector<std::vector<int64_t>> rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::vector<Weights> moments;
  for (const std::vector<int64_t>& row : rows) {
    const bool covered = std::any_of(rows.begin(), rows.end(), [&](const auto& other) {
      return &other != &row &&
             std::equal(row.begin(), row.end(), other.begin(), std::less_equal<>());
    });
    if (!covered) moments.push_back({row, 1});
  }
  return moments;
}

Bytes RankLayers::held(const Weights& weights, const ChoiceOfLayer& choices) const {
  int64_t sum = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    sum += weights.in_flight[layers_[i].chunk] * choice(i, choices[i]).retained.count();
  }
  return Bytes(sum / weights.divisor);
}

Bytes RankLayers::retained(const ChoiceOfLayer& choices) const {
  Bytes most;
  for (const Weights& moment : moments_) most = std::max(most, held(moment, choices));
  return most;
}

double RankLayers::wall_s(const cost::ReplayTime& replay) const {
  cost::LayerTime load = load_;
  load.replay_s += replay.gpu_s;
  load.host_replay += replay.host_units;
  return cost::micro_batch_time(load, device_, calibration_).seconds();
}

cost::ReplayTime RankLayers::replay_of(const ChoiceOfLayer& choices) const {
  cost::ReplayTime sum;
  for (size_t i = 0; i < layers_.size(); ++i) {
    sum.gpu_s += choice(i, choices[i]).replay.gpu_s;
    sum.host_units += choice(i, choices[i]).replay.host_units;
  }
  return sum;
}

double RankLayers::seconds(const ChoiceOfLayer& choices) const {
  return wall_s(replay_of(choices));
}

RankLayers::Slope RankLayers::slope_at(const ChoiceOfLayer& choices) const {
  const cost::ReplayTime at = replay_of(choices);
  const double gpu_step = 1e-5 * load_.backward_s;
  const double host_step = 1e-5 * std::max(1.0, load_.host_backward);
  const double here = wall_s(at);
  return {(wall_s({at.gpu_s + gpu_step, at.host_units}) - here) / gpu_step,
          (wall_s({at.gpu_s, at.host_units + host_step}) - here) / host_step};
}

std::optional<std::pair<ChoiceOfLayer, double>> RankLayers::solve_at(const Weights& weights,
                                                                     const Slope& slope,
                                                                     Bytes room) const {
  Knapsack knapsack{.items = std::vector<std::vector<Item>>(layers_.size()),
                    .budget = room.count()};
  for (size_t i = 0; i < layers_.size(); ++i) {
    const int64_t in_flight = weights.in_flight[layers_[i].chunk];
    for (int32_t c = 0; c < std::ssize(layers_[i].kind->choices); ++c) {
      const LayerChoice& each = choice(i, c);
      const int64_t bytes = in_flight * each.retained.count() / weights.divisor;
      knapsack.items[i].push_back(
          {.retained = bytes, .need = bytes, .seconds = slope.price(each.replay), .id = c});
    }
  }
  const auto picks = solve(knapsack);
  if (!picks) return std::nullopt;
  return std::pair(picks->items, picks->lower_bound_s);
}

std::optional<ChoiceOfLayer> RankLayers::fitted(const Weights& weights, const Slope& slope,
                                                Bytes room) const {
  Bytes asked = room;
  for (int i = 0; i < kFittings && asked >= Bytes(); ++i) {
    const auto solved = solve_at(weights, slope, asked);
    if (!solved) return std::nullopt;
    const Bytes over = retained(solved->first) - room;
    if (over <= Bytes()) return solved->first;
    asked -= over;
  }
  return std::nullopt;
}

/// Layers go to cheaper choices as long as there is room, those that save most first.
void RankLayers::upgrade(ChoiceOfLayer& choices, Bytes room) const {
  std::vector<int64_t> room_at;  // by moment
  for (const Weights& moment : moments_) room_at.push_back((room - held(moment, choices)).count());
  const auto fits = [&](size_t layer, int64_t more) {
    for (size_t m = 0; m < moments_.size(); ++m) {
      if (moments_[m].in_flight[layers_[layer].chunk] * more > room_at[m]) return false;
    }
    return true;
  };
  cost::ReplayTime replay = replay_of(choices);
  while (true) {
    double least = wall_s(replay);
    cost::ReplayTime after;
    size_t layer = choices.size();
    int32_t to = 0;
    for (size_t i = 0; i < choices.size(); ++i) {
      const LayerChoice& now = choice(i, choices[i]);
      for (int32_t c = 0; c < std::ssize(layers_[i].kind->choices); ++c) {
        const LayerChoice& other = choice(i, c);
        const cost::ReplayTime changed = {
            replay.gpu_s - now.replay.gpu_s + other.replay.gpu_s,
            replay.host_units - now.replay.host_units + other.replay.host_units};
        const double seconds = wall_s(changed);
        if (seconds >= least || !fits(i, (other.retained - now.retained).count())) continue;
        least = seconds;
        after = changed;
        layer = i;
        to = c;
      }
    }
    if (layer == choices.size()) return;
    const int64_t more =
        (choice(layer, to).retained - choice(layer, choices[layer]).retained).count();
    for (size_t m = 0; m < moments_.size(); ++m) {
      room_at[m] -= moments_[m].in_flight[layers_[layer].chunk] * more;
    }
    choices[layer] = to;
    replay = after;
  }
}

void RankLayers::in_order(ChoiceOfLayer& choices) const {
  for (size_t i = 0; i < choices.size(); ++i) {
    for (size_t j = i + 1; j < choices.size(); ++j) {
      if (layers_[i].chunk != layers_[j].chunk || layers_[i].kind != layers_[j].kind) continue;
      if (choice(j, choices[j]).retained < choice(i, choices[i]).retained) {
        std::swap(choices[i], choices[j]);
      }
    }
  }
}

std::optional<ChoiceOfLayer> RankLayers::within(Bytes room) const {
  if (layers_.empty()) return ChoiceOfLayer();
  std::optional<ChoiceOfLayer> best;
  const auto offer = [&](std::optional<ChoiceOfLayer> found) {
    if (!found) return;
    upgrade(*found, room);
    if (!best || seconds(*found) < seconds(*best)) best = std::move(found);
  };
  const Slope slope = slope_at(ChoiceOfLayer(layers_.size(), 0));
  offer(fitted(mean_, slope, room));
  for (const Weights& moment : moments_) offer(fitted(moment, slope, room));
  if (best) in_order(*best);
  return best;
}

std::optional<double> RankLayers::least_seconds(Bytes room, Bytes head_room) const {
  if (layers_.empty()) return wall_s({});
  double bound = 0;
  ChoiceOfLayer at(layers_.size(), 0);
  for (int tangent = 0; tangent < kTangents; ++tangent) {
    const Slope slope = slope_at(at);
    const double touches = seconds(at) - slope.price(replay_of(at));
    ChoiceOfLayer next = at;
    double dearest = -1;
    const auto keep_to = [&](const std::vector<Weights>& moments, Bytes bytes) {
      for (const Weights& moment : moments) {
        auto solved = solve_at(moment, slope, bytes);
        if (!solved) return false;
        if (solved->second > dearest) std::tie(next, dearest) = *std::move(solved);
      }
      return true;
    };
    if (!keep_to(moments_, room) || !keep_to(head_moments_, head_room)) return std::nullopt;
    bound = std::max(bound, touches + dearest);
    if (next == at) break;
    at = std::move(next);
  }
  return bound;
}

}  // namespace refrain::plan
