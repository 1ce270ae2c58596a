// Problem. Positions 0..n-1; an item at p covers p..p+span-1, adds `retained` to all later
// positions and needs `need` above what came before it. Least seconds such that no need exceeds the
// budget.
//
// Idea. Everything later depends on what came before only through the bytes retained so far, and
// less of them is never worse. So a partial solution is a pair (retained, seconds), and at each
// position those that no other pair beats in both suffice: a dynamic program over Pareto sets.
//
// Bound. Without the budget's detail, the positions left over cost at least what a fractional
// choice costs (the lower convex hull of each position's items, steepest saving first), which is
// one sorted list of hull segments for every suffix. A partial solution whose bound reaches a known
// whole solution is dropped; identical layers make the bound tight, and few survive.
//
// Ends. Each position is visited once, with at most (states x items) candidates. Where the states
// outgrow the effort, those with the least bounds go on: still a solution, perhaps not the least;
// `lower_bound_s` then is the fractional bound of the whole.

#include "plan/knapsack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/error.h"

namespace refrain::plan {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Relative; sums of the same numbers in another order differ by less.
constexpr double kSameSeconds = 1e-12;
// Partial solutions a position that a first search keeps.
constexpr int64_t kNarrow = 50;

struct Point {
  double retained, seconds;
};

/// The lower convex hull, from fewest bytes (most seconds) to most bytes.
std::vector<Point> hull_of(std::vector<Point> points) {
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return a.retained != b.retained ? a.retained < b.retained : a.seconds < b.seconds;
  });
  std::vector<Point> hull;
  for (const Point& p : points) {
    if (!hull.empty() && p.seconds >= hull.back().seconds) continue;  // more bytes, no faster
    while (hull.size() >= 2) {
      const Point &a = hull[hull.size() - 2], &b = hull.back();
      const bool below = (b.seconds - a.seconds) * (p.retained - a.retained) <=
                         (p.seconds - a.seconds) * (b.retained - a.retained);
      if (below) break;
      hull.pop_back();
    }
    hull.push_back(p);
  }
  return hull;
}

/// Least seconds of the positions from p on, as a function of the bytes they may retain.
class SuffixBounds {
 public:
  explicit SuffixBounds(const Knapsack& knapsack) : bounds_(knapsack.items.size() + 1) {
    const std::vector<std::vector<Point>> points = points_of(knapsack);
    std::map<double, double> bytes_by_rate;  // seconds saved a byte, steepest last
    Bound bound;
    for (size_t p = points.size(); p-- > 0;) {
      const std::vector<Point> hull = hull_of(points[p]);
      if (hull.empty()) {
        bound.most_seconds = kInfinite;
      } else {
        bound.least_retained += hull.front().retained;
        bound.most_seconds += hull.front().seconds;
        for (size_t i = 1; i < hull.size(); ++i) {
          const double bytes = hull[i].retained - hull[i - 1].retained;
          bytes_by_rate[(hull[i - 1].seconds - hull[i].seconds) / bytes] += bytes;
        }
      }
      bound.steps.assign(bytes_by_rate.rbegin(), bytes_by_rate.rend());
      bounds_[p] = bound;
    }
  }

  /// kInfinite where they cannot retain so little.
  double operator()(size_t position, double bytes) const {
    const Bound& bound = bounds_[position];
    double left = bytes - bound.least_retained;
    // Bytes are whole numbers; the shares of long items are not, and their sums round.
    if (left < -0.5) return kInfinite;
    left = std::max(0.0, left);
    double seconds = bound.most_seconds;
    for (const auto& [rate, step_bytes] : bound.steps) {
      seconds -= rate * std::min(left, step_bytes);
      left -= step_bytes;
      if (left <= 0) break;
    }
    return std::max(0.0, seconds);
  }

 private:
  struct Bound {
    double least_retained = 0, most_seconds = 0;
    std::vector<std::pair<double, double>> steps;  // rate, bytes; steepest first
  };

  static std::vector<std::vector<Point>> points_of(const Knapsack& knapsack) {
    std::vector<std::vector<Point>> points(knapsack.items.size());
    for (size_t p = 0; p < points.size(); ++p) {
      for (const Item& item : knapsack.items[p]) {
        // A long item is spread evenly over what it covers; nothing it takes part in gets dearer.
        const double share = 1.0 / item.span;
        const bool ends = p + item.span == points.size();  // what it retains burdens nobody
        const double retained = ends ? 0 : static_cast<double>(item.retained) * share;
        for (int32_t i = 0; i < item.span; ++i) {
          points[p + i].push_back({retained, item.seconds * share});
        }
      }
    }
    return points;
  }

  std::vector<Bound> bounds_;
};

struct State {
  int64_t retained;
  double seconds;
  int32_t from;  // index among the states of the position where the item begins
  int32_t item;
  int32_t begins;  // that position
};

/// Sorted by retained bytes; each has fewer seconds than all before it.
void keep_pareto(std::vector<State>& states) {
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return a.retained != b.retained ? a.retained < b.retained : a.seconds < b.seconds;
  });
  size_t kept = 0;
  double least = kInfinite;
  for (const State& state : states) {
    if (state.seconds >= least) continue;
    least = state.seconds;
    states[kept++] = state;
  }
  states.resize(kept);
}

/// What all positions together may retain: somebody has to come last and needs room.
int64_t most_retained(const Knapsack& knapsack) {
  int64_t least_need = std::numeric_limits<int64_t>::max();
  for (size_t p = 0; p < knapsack.items.size(); ++p) {
    for (const Item& item : knapsack.items[p]) {
      if (p + item.span == knapsack.items.size()) least_need = std::min(least_need, item.need);
    }
  }
  return knapsack.budget - least_need;
}

class Search {
 public:
  Search(const Knapsack& knapsack, const SuffixBounds& bounds)
      : knapsack_(knapsack), bounds_(bounds) {}

  /// A better solution than one of `incumbent_s`, or nothing. Where the states of a position
  /// outgrow `most_states`, those with the least bounds go on, and `complete()` is false: what was
  /// found need not be the best.
  std::optional<Picks> run(double incumbent_s, int64_t most_states) {
    complete_ = true;
    const size_t n = knapsack_.items.size();
    states_.assign(n + 1, {});
    states_[0].push_back({0, 0, -1, -1, -1});
    const int64_t cap = most_retained(knapsack_);
    for (size_t p = 0; p < n; ++p) {
      keep_pareto(states_[p]);
      narrow(p, cap, most_states);
      for (int32_t s = 0; s < static_cast<int32_t>(states_[p].size()); ++s) {
        extend(p, s, cap, incumbent_s);
      }
    }
    return best();
  }
  bool complete() const { return complete_; }

 private:
  double bound_of(size_t p, const State& state, int64_t cap) const {
    return state.seconds + bounds_(p, static_cast<double>(cap - state.retained));
  }

  void narrow(size_t p, int64_t cap, int64_t most_states) {
    std::vector<State>& states = states_[p];
    if (static_cast<int64_t>(states.size()) <= most_states) return;
    complete_ = false;
    std::nth_element(states.begin(), states.begin() + most_states, states.end(),
                     [&](const State& a, const State& b) {
                       return bound_of(p, a, cap) < bound_of(p, b, cap);
                     });
    states.resize(most_states);
  }

  void extend(size_t p, int32_t s, int64_t cap, double incumbent_s) {
    const State from = states_[p][s];
    const auto& items = knapsack_.items[p];
    for (int32_t i = 0; i < static_cast<int32_t>(items.size()); ++i) {
      const Item& item = items[i];
      if (from.retained + item.need > knapsack_.budget) continue;
      const size_t next = p + item.span;
      State to{from.retained + item.retained, from.seconds + item.seconds, s, i,
               static_cast<int32_t>(p)};
      const bool last = next == knapsack_.items.size();
      if (last) to.retained = 0;  // nobody comes after
      const double bound = last ? to.seconds : bound_of(next, to, cap);
      if (bound < incumbent_s * (1 - kSameSeconds)) states_[next].push_back(to);
    }
  }

  std::optional<Picks> best() {
    auto& ends = states_.back();
    if (ends.empty()) return std::nullopt;
    const State* state = &*std::min_element(
        ends.begin(), ends.end(),
        [](const State& a, const State& b) { return a.seconds < b.seconds; });
    Picks picks{.items = std::vector<int32_t>(knapsack_.items.size(), -1),
                .seconds = state->seconds};
    while (state->begins >= 0) {
      picks.items[state->begins] = state->item;
      state = &states_[state->begins][state->from];
    }
    return picks;
  }

  const Knapsack& knapsack_;
  const SuffixBounds& bounds_;
  std::vector<std::vector<State>> states_;
  bool complete_ = true;
};

void check(const Knapsack& knapsack) {
  RC_CHECK(!knapsack.items.empty(), "a knapsack without positions");
  for (size_t p = 0; p < knapsack.items.size(); ++p) {
    for (const Item& item : knapsack.items[p]) {
      RC_CHECK(item.span >= 1 && p + item.span <= knapsack.items.size(), "an item of span {}",
               item.span);
      RC_CHECK(item.retained >= 0 && item.seconds >= 0, "an item that gives back");
    }
  }
}

/// The cheapest way through all positions where each item costs `price(item)`, a number that adds
/// up; nothing where `allowed(cost so far, item)` shuts every way.
template <class Price, class Allowed>
std::optional<std::vector<int32_t>> cheapest_way(const Knapsack& knapsack, Price price,
                                                 Allowed allowed) {
  using Cost = decltype(price(Item()));
  struct Mark {
    std::optional<Cost> cost;
    int32_t begins = -1, item = -1;
  };
  std::vector<Mark> marks(knapsack.items.size() + 1);
  marks[0].cost = Cost();
  for (int32_t p = 0; p < static_cast<int32_t>(knapsack.items.size()); ++p) {
    if (!marks[p].cost) continue;
    for (int32_t i = 0; i < static_cast<int32_t>(knapsack.items[p].size()); ++i) {
      const Item& item = knapsack.items[p][i];
      if (!allowed(*marks[p].cost, item)) continue;
      Mark& next = marks[p + item.span];
      const Cost cost = *marks[p].cost + price(item);
      if (!next.cost || cost < *next.cost) next = {cost, p, i};
    }
  }
  if (!marks.back().cost) return std::nullopt;
  std::vector<int32_t> picks(knapsack.items.size(), -1);
  for (auto p = static_cast<int32_t>(knapsack.items.size()); p > 0; p = marks[p].begins) {
    picks[marks[p].begins] = marks[p].item;
  }
  return picks;
}

/// Least bytes retained before each position where every need keeps to the budget. Fewer of them
/// are never worse, so where this finds no way there is none.
std::optional<std::vector<int32_t>> thriftiest_way(const Knapsack& knapsack, int64_t budget) {
  return cheapest_way(
      knapsack, [](const Item& item) { return item.retained; },
      [budget](int64_t retained, const Item& item) { return retained + item.need <= budget; });
}

double seconds_of(const Knapsack& knapsack, const std::vector<int32_t>& picks) {
  double seconds = 0;
  for (size_t p = 0; p < picks.size(); ++p) {
    if (picks[p] >= 0) seconds += knapsack.items[p][picks[p]].seconds;
  }
  return seconds;
}

/// A good solution at once: bytes are given a price, and the price is raised until what is cheapest
/// keeps to the budget (Lagrange relaxation).
Picks quick_solution(const Knapsack& knapsack) {
  std::vector<int32_t> best = *thriftiest_way(knapsack, knapsack.budget);
  const auto try_price = [&](double byte_s) {
    auto picks = cheapest_way(
        knapsack,
        [byte_s](const Item& item) {
          return item.seconds + byte_s * static_cast<double>(item.retained);
        },
        [](double, const Item&) { return true; });
    if (!picks || peak_of(knapsack, *picks) > knapsack.budget) return false;
    if (seconds_of(knapsack, *picks) < seconds_of(knapsack, best)) best = *std::move(picks);
    return true;
  };
  if (!try_price(0)) {
    double low = 1e-20, high = 1;  // seconds a byte: nothing costs less, or more
    for (int halving = 0; halving < 40; ++halving) {
      const double middle = std::sqrt(low * high);
      (try_price(middle) ? high : low) = middle;
    }
  }
  return {.items = best, .seconds = seconds_of(knapsack, best)};
}

}  // namespace

double Picks::gap() const {
  if (seconds <= lower_bound_s * (1 + kSameSeconds)) return 0;
  return lower_bound_s > 0 ? seconds / lower_bound_s - 1 : kInfinite;
}

std::optional<Picks> solve(const Knapsack& knapsack, const Effort& effort) {
  check(knapsack);
  if (!thriftiest_way(knapsack, knapsack.budget)) return std::nullopt;
  const SuffixBounds bounds(knapsack);
  // A quick solution, then a narrow search: a good bound is what keeps the whole search small.
  Picks picks = quick_solution(knapsack);
  Search search(knapsack, bounds);
  for (const int64_t width : {std::min(kNarrow, effort.most_states), effort.most_states}) {
    if (const auto better = search.run(picks.seconds, width)) picks = *better;
    if (search.complete()) {
      picks.lower_bound_s = picks.seconds;
      return picks;
    }
  }
  picks.lower_bound_s = bounds(0, static_cast<double>(most_retained(knapsack)));
  return picks;
}

int64_t least_budget(const Knapsack& knapsack) {
  check(knapsack);
  int64_t high = 1;
  while (!thriftiest_way(knapsack, high)) high *= 2;
  int64_t low = 0;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (thriftiest_way(knapsack, middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

int64_t peak_of(const Knapsack& knapsack, const std::vector<int32_t>& picks) {
  int64_t retained = 0, peak = 0;
  for (size_t p = 0; p < knapsack.items.size();) {
    const Item& item = knapsack.items[p].at(picks.at(p));
    peak = std::max(peak, retained + item.need);
    retained += item.retained;
    p += item.span;
  }
  return peak;
}

}  // namespace refrain::plan
