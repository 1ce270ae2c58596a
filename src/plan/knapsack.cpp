// Problem. Positions 0..n-1; an item at p covers p..p+span-1, adds `retained` to all later
// positions and needs `need` above what came before it. Least seconds such that no need exceeds the
// budget.
//
// Idea. From the last position to the first: a way to treat the positions from p on is a pair
// (room, seconds), where room is the most that positions before p may retain under it. An item in
// front of it leaves min(budget - need, room - retained). More room and fewer seconds are never
// worse, so at each position the pairs that no other pair beats in both suffice.
//
// Bound. The positions before p cost at least what a fractional choice with that room costs (the
// lower convex hull of each position's items, steepest saving first). A pair whose bound reaches a
// known whole solution is dropped. Needs bind late, where much is retained, and those are in the
// room already; early they hardly do, so the bound is tight and few pairs survive.
//
// Ends. Each position is visited once, with at most (pairs x items) candidates. Where the pairs
// outgrow the effort, those with the least bounds go on: still a solution, perhaps not the least;
// no solution is less than the least bound of what was left out.

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

/// Least seconds of the positions before p, as a function of the bytes they may retain.
class PrefixBounds {
 public:
  explicit PrefixBounds(const Knapsack& knapsack) : bounds_(knapsack.items.size() + 1) {
    const std::vector<std::vector<Point>> points = points_of(knapsack);
    std::map<double, double> bytes_by_rate;  // seconds saved a byte, steepest last
    Bound bound;
    for (size_t p = 0; p < points.size(); ++p) {
      const std::vector<Point> hull = hull_of(points[p]);
      if (hull.empty()) {
        bound.most_seconds = kInfinite;
      } else {
        bound.least_retained += hull.front().retained;
        bound.most_seconds += hull.front().seconds;
      }
      for (size_t i = 1; i < hull.size(); ++i) {
        const double bytes = hull[i].retained - hull[i - 1].retained;
        bytes_by_rate[(hull[i - 1].seconds - hull[i].seconds) / bytes] += bytes;
      }
      bound.steps.assign(bytes_by_rate.rbegin(), bytes_by_rate.rend());
      bounds_[p + 1] = bound;
    }
  }

  /// kInfinite where they cannot retain so little.
  double operator()(size_t position, int64_t bytes) const {
    const Bound& bound = bounds_[position];
    double left = static_cast<double>(bytes) - bound.least_retained;
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
        for (int32_t i = 0; i < item.span; ++i) {
          points[p + i].push_back(
              {static_cast<double>(item.retained) * share, item.seconds * share});
        }
      }
    }
    return points;
  }

  std::vector<Bound> bounds_;
};

/// A way to treat the positions from one on.
struct State {
  int64_t room;  // the most that earlier positions may retain
  double seconds;
  int32_t item;  // that begins here
  int32_t rest;  // index among the states of the position after the item
};

/// Most room first; each has fewer seconds than all before it.
void keep_pareto(std::vector<State>& states) {
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) {
    return a.room != b.room ? a.room > b.room : a.seconds < b.seconds;
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

class Search {
 public:
  Search(const Knapsack& knapsack, const PrefixBounds& bounds)
      : knapsack_(knapsack), bounds_(bounds) {}

  /// A better solution than one of `incumbent_s`, or nothing. Where the states of a position
  /// outgrow `most_states`, those with the least bounds go on.
  std::optional<Picks> run(double incumbent_s, int64_t most_states) {
    const size_t n = knapsack_.items.size();
    left_out_s_ = kInfinite;
    states_.assign(n + 1, {});
    states_[n].push_back({knapsack_.budget, 0, -1, -1});
    for (size_t p = n; p-- > 0;) {
      for (int32_t i = 0; i < static_cast<int32_t>(knapsack_.items[p].size()); ++i) {
        prepend(p, i, incumbent_s);
      }
      keep_pareto(states_[p]);
      narrow(p, most_states);
    }
    return best();
  }

  /// No solution that the last run left out takes less; kInfinite: it left none out.
  double left_out_s() const { return left_out_s_; }

 private:
  double bound_of(size_t p, const State& state) const {
    return state.seconds + bounds_(p, state.room);
  }

  void prepend(size_t p, int32_t i, double incumbent_s) {
    const Item& item = knapsack_.items[p][i];
    const std::vector<State>& rests = states_[p + item.span];
    const bool last = p + item.span == knapsack_.items.size();  // what it retains burdens nobody
    for (int32_t r = 0; r < static_cast<int32_t>(rests.size()); ++r) {
      const int64_t room = last ? knapsack_.budget : rests[r].room - item.retained;
      const State state{std::min(room, knapsack_.budget - item.need),
                        rests[r].seconds + item.seconds, i, r};
      if (state.room < 0) continue;
      if (bound_of(p, state) < incumbent_s * (1 - kSameSeconds)) states_[p].push_back(state);
    }
  }

  void narrow(size_t p, int64_t most_states) {
    std::vector<State>& states = states_[p];
    if (static_cast<int64_t>(states.size()) <= most_states) return;
    const auto cut = states.begin() + most_states;
    std::nth_element(states.begin(), cut, states.end(), [&](const State& a, const State& b) {
      return bound_of(p, a) < bound_of(p, b);
    });
    left_out_s_ = std::min(left_out_s_, bound_of(p, *cut));
    states.erase(cut, states.end());
  }

  std::optional<Picks> best() {
    if (states_[0].empty()) return std::nullopt;
    const State* state =
        &*std::min_element(states_[0].begin(), states_[0].end(),
                           [](const State& a, const State& b) { return a.seconds < b.seconds; });
    Picks picks{.items = std::vector<int32_t>(knapsack_.items.size(), -1),
                .seconds = state->seconds};
    for (size_t p = 0; state->item >= 0;) {
      picks.items[p] = state->item;
      p += knapsack_.items[p][state->item].span;
      state = &states_[p][state->rest];
    }
    return picks;
  }

  const Knapsack& knapsack_;
  const PrefixBounds& bounds_;
  std::vector<std::vector<State>> states_;
  double left_out_s_ = kInfinite;
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
  const PrefixBounds bounds(knapsack);
  // A quick solution, then a narrow search: a good bound is what keeps the whole search small.
  Picks picks = quick_solution(knapsack);
  Search search(knapsack, bounds);
  for (const int64_t width : {std::min(kNarrow, effort.most_states), effort.most_states}) {
    if (const auto better = search.run(picks.seconds, width)) picks = *better;
    picks.lower_bound_s = std::min(picks.seconds, search.left_out_s());
    if (picks.gap() == 0) break;
  }
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
