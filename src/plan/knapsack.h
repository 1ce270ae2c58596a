// The stage knapsack: one item for each position, least seconds, no position above the budget.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace refrain::plan {

/// A way to treat the positions from where it stands on, `span` of them.
struct Item {
  int32_t span = 1;
  int64_t retained = 0;  // bytes that it adds for every later position
  int64_t need = 0;      // its highest moment, above what earlier positions retain
  double seconds = 0;
  int32_t id = 0;  // the caller's name for it
};

/// Positions in the order of forward. What is retained before a position is held at each of its
/// moments, forward and backward: retained(earlier) + need(item) must not exceed the budget, so
/// the peak is bounded at every position of backward, not only at the end of forward.
struct Knapsack {
  std::vector<std::vector<Item>> items;  // by the position where they begin
  int64_t budget = 0;
};

struct Picks {
  std::vector<int32_t> items;  // by position: index of the item that begins there, or -1
  double seconds = 0;
  double lower_bound_s = 0;  // no choice of items inside the budget takes less

  /// Of the lower bound; 0: proven to be the least.
  double gap() const;
};

/// How far to go. The search is exact as long as no more than this many partial solutions are
/// alive at a position; beyond, the most promising go on, and the gap says what that may have cost.
struct Effort {
  int64_t most_states = 20000;

  /// Until the least is proven, however long that takes.
  static Effort exact() { return {std::numeric_limits<int64_t>::max()}; }
};

/// Nothing where no choice of items keeps every position inside the budget.
std::optional<Picks> solve(const Knapsack& knapsack, const Effort& effort = {});

/// The smallest budget that some choice of items keeps to.
int64_t least_budget(const Knapsack& knapsack);

/// The highest retained(earlier) + need over all positions, under these picks.
int64_t peak_of(const Knapsack& knapsack, const std::vector<int32_t>& picks);

}  // namespace refrain::plan
