#include "cli/plan/timeline_ranges.h"

#include <fmt/format.h>

#include <algorithm>

namespace refrain::cli {
namespace {

using program::Step;
using program::StepKind;
using report::StepRange;

enum class Pass { kForward, kLoss, kBackward, kUpdate };

std::string_view to_text(Pass pass) {
  constexpr std::string_view kNames[] = {"forward", "loss", "backward", "update"};
  return kNames[static_cast<size_t>(pass)];
}

/// Where a step stands. Steps with equal places are one range.
struct Place {
  Pass pass = Pass::kForward;
  int32_t micro_batch = -1;
  int32_t block = -1;

  bool operator==(const Place&) const = default;
};

/// A step that names no place of its own (an update) follows the one before it.
Place place_of(const Step& step, const Place& before) {
  switch (step.kind) {
    case StepKind::kLoadBatch:
      return {Pass::kForward, step.micro_batch, 0};
    case StepKind::kForward:
      return {Pass::kForward, step.micro_batch, step.op.block};
    case StepKind::kLoss:
      return {Pass::kLoss, step.micro_batch, step.op.block};
    case StepKind::kReplay:
    case StepKind::kBackward:
    case StepKind::kBackwardWeights:
    case StepKind::kBackwardInputs:
      return {Pass::kBackward, step.micro_batch, step.op.block};
    case StepKind::kClip:
      return {Pass::kUpdate, -1, -1};
    case StepKind::kUpdate:
      return before;
  }
  return before;
}

std::vector<Place> places_of(const program::Program& program) {
  std::vector<Place> places;
  for (const Step& step : program.steps) {
    places.push_back(place_of(step, places.empty() ? Place() : places.back()));
  }
  return places;
}

/// Calls name(first place, last place) for each maximal run of places that `key` makes equal.
template <class Key, class Name>
std::vector<StepRange> runs_of(const std::vector<Place>& places, Key key, Name name) {
  std::vector<StepRange> ranges;
  for (size_t s = 0; s < places.size();) {
    size_t end = s + 1;
    while (end < places.size() && key(places[end]) == key(places[s])) ++end;
    ranges.push_back({name(places[s], places[end - 1]), s, end - 1});
    s = end;
  }
  return ranges;
}

class Parts {
 public:
  explicit Parts(const plan::PreparedStep& step)
      : graph_(step.graph), places_(places_of(step.program)) {
    for (const Place& place : places_) {
      num_micro_batches_ = std::max(num_micro_batches_, place.micro_batch + 1);
    }
  }

  std::vector<StepRange> passes() const {
    return runs_of(
        places_,
        [](const Place& p) {
          return Place{p.pass, p.micro_batch, -1};
        },
        [&](const Place& p, const Place&) {
          return fmt::format("{}{}", to_text(p.pass), micro_batch_text(p));
        });
  }

  std::vector<StepRange> layers(int32_t together) const {
    return runs_of(
        places_,
        [&](const Place& p) {
          return Place{p.pass, p.micro_batch, group_of(p, together)};
        },
        [&](const Place& a, const Place& b) {
          return fmt::format("{}{}{}", to_text(a.pass), layers_text(a, b), micro_batch_text(a));
        });
  }

  std::vector<StepRange> micro_batches() const {
    const int32_t last = num_micro_batches_ - 1;
    return runs_of(
        places_,
        [&](const Place& p) {
          const bool middle = p.micro_batch > 0 && p.micro_batch < last;
          return middle ? Place{Pass::kForward, 1, -1} : Place{p.pass, p.micro_batch, -1};
        },
        [&](const Place& a, const Place& b) {
          if (a.micro_batch == b.micro_batch) {
            return fmt::format("{}{}", to_text(a.pass), micro_batch_text(a));
          }
          return fmt::format("micro-batches {} to {}", a.micro_batch, b.micro_batch);
        });
  }

 private:
  /// Blocks that are no layers stay alone: group -1 for all of them, which are never neighbours.
  int32_t group_of(const Place& place, int32_t together) const {
    const auto layer = layer_of(place);
    return layer ? static_cast<int32_t>(*layer) / together : -1;
  }

  std::optional<int64_t> layer_of(const Place& place) const {
    return place.block < 0 ? std::nullopt : graph_.blocks[place.block].layer;
  }

  std::string layers_text(const Place& a, const Place& b) const {
    const auto first = layer_of(a), last = layer_of(b);
    if (!first && (a.pass == Pass::kLoss || a.block < 0)) return "";
    if (!first) return a.block == 0 ? " embedding" : " head";
    if (*first == *last) return fmt::format(" layer {}", *first);
    return fmt::format(" layers {} to {}", std::min(*first, *last), std::max(*first, *last));
  }

  std::string micro_batch_text(const Place& place) const {
    if (num_micro_batches_ <= 1 || place.micro_batch < 0) return "";
    return fmt::format(", micro-batch {}", place.micro_batch);
  }

  const model::ModelGraph& graph_;
  std::vector<Place> places_;
  int32_t num_micro_batches_ = 1;
};

}  // namespace

std::vector<StepRange> passes_of(const plan::PreparedStep& step) { return Parts(step).passes(); }

std::vector<StepRange> stretches_of(const plan::PreparedStep& step, size_t most) {
  const Parts parts(step);
  const auto num_blocks = static_cast<int32_t>(step.graph.blocks.size());
  for (int32_t together = 1; together < 2 * num_blocks; together *= 2) {
    std::vector<StepRange> ranges = parts.layers(together);
    if (ranges.size() <= most) return ranges;
  }
  return parts.micro_batches();
}

}  // namespace refrain::cli
