#include "report/page/timeline_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "report/page/chart/thin.h"

namespace refrain::report {
namespace {

using nlohmann::ordered_json;

// At most four steps a column are drawn: more than a wide screen's pixels show.
constexpr size_t kColumns = 500;

/// Each number less the one before it: most are small or zero, and the page is short.
template <class ValueAt>
ordered_json differences(size_t size, ValueAt value_at) {
  ordered_json list = ordered_json::array();
  int64_t before = 0;
  for (size_t i = 0; i < size; ++i) {
    const int64_t value = value_at(i);
    list.push_back(value - before);
    before = value;
  }
  return list;
}

}  // namespace

Bytes total(const MemoryStep& step) {
  return std::accumulate(step.held.begin(), step.held.end(), Bytes());
}

std::vector<size_t> drawn_steps(const MemoryTimeline& timeline) {
  std::vector<int64_t> totals;
  for (const MemoryStep& step : timeline.steps) totals.push_back(total(step).count());
  return thin(totals, kColumns);
}

std::vector<size_t> held_accounts(const MemoryTimeline& timeline) {
  std::vector<size_t> held;
  for (size_t account = 0; account < timeline.accounts.size(); ++account) {
    const bool holds =
        std::any_of(timeline.steps.begin(), timeline.steps.end(),
                    [&](const MemoryStep& step) { return step.held[account] != Bytes(); });
    if (holds) held.push_back(account);
  }
  return held;
}

Html timeline_data(const MemoryTimeline& timeline) {
  const std::vector<size_t> kept = drawn_steps(timeline);
  ordered_json names = ordered_json::array(), held = ordered_json::object();
  for (const size_t step : kept) names.push_back(timeline.steps[step].name);
  for (const size_t account : held_accounts(timeline)) {
    held[timeline.accounts[account]] = differences(
        kept.size(), [&](size_t i) { return timeline.steps[kept[i]].held[account].count(); });
  }
  const auto peak = std::find(kept.begin(), kept.end(), timeline.peak_step);
  return Html::json(
      "timeline-data",
      {{"num_steps", timeline.steps.size()},
       {"peak", peak - kept.begin()},
       {"steps", differences(kept.size(), [&](size_t i) { return static_cast<int64_t>(kept[i]); })},
       {"held", std::move(held)},
       {"names", std::move(names)}});
}

}  // namespace refrain::report
