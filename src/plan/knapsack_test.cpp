#include "plan/knapsack.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

namespace refrain::plan {
namespace {

/// Every way through the positions, one after the other.
struct Brute {
  double seconds = std::numeric_limits<double>::infinity();
  int64_t peak = std::numeric_limits<int64_t>::max();  // the least of any way
};
Brute brute_force(const Knapsack& knapsack) {
  Brute best;
  std::vector<int32_t> picks(knapsack.items.size(), -1);
  std::function<void(size_t, double)> go = [&](size_t p, double seconds) {
    if (p == knapsack.items.size()) {
      const int64_t peak = peak_of(knapsack, picks);
      best.peak = std::min(best.peak, peak);
      if (peak <= knapsack.budget) best.seconds = std::min(best.seconds, seconds);
      return;
    }
    for (int32_t i = 0; i < static_cast<int32_t>(knapsack.items[p].size()); ++i) {
      picks[p] = i;
      go(p + knapsack.items[p][i].span, seconds + knapsack.items[p][i].seconds);
      picks[p] = -1;
    }
  };
  go(0, 0);
  return best;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine_);
  }

  /// Every position has an item of span 1, so there always is a way.
  Knapsack knapsack(int64_t positions, int64_t most_items) {
    Knapsack knapsack;
    for (int64_t p = 0; p < positions; ++p) {
      auto& items = knapsack.items.emplace_back();
      const int64_t count = number(1, most_items);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t longest = i == 0 ? 1 : std::min<int64_t>(3, positions - p);
        items.push_back({.span = static_cast<int32_t>(number(1, longest)),
                         .retained = number(0, 20),
                         .need = number(0, 60),
                         .seconds = static_cast<double>(number(0, 12))});
      }
    }
    knapsack.budget = number(0, 20 * positions + 60);
    return knapsack;
  }

  /// Layers of a few kinds, as models have them, with a budget somewhere between.
  Knapsack layers(int64_t positions, int64_t num_items) {
    std::vector<Item> items;
    for (int64_t i = 0; i < num_items; ++i) {
      const int64_t retained = number(1 << 20, 40 << 20);
      items.push_back({.retained = retained,
                       .need = (60 << 20) + number(0, 10 << 20),
                       .seconds = 1e-3 * static_cast<double>((41 << 20) - retained) / (40 << 20) +
                                  1e-5 * static_cast<double>(number(0, 20))});
    }
    Knapsack knapsack;
    knapsack.items.assign(positions, items);
    const int64_t least = least_budget(knapsack);
    knapsack.budget = least + number(0, positions * (30 << 20));
    return knapsack;
  }

 private:
  std::mt19937 engine_;
};

TEST(Knapsack, EqualsBruteForceOnRandomInstances) {
  Random random(7);
  int feasible = 0, infeasible = 0;
  for (int i = 0; i < 4000; ++i) {
    const Knapsack knapsack = random.knapsack(random.number(1, 6), 4);
    const Brute brute = brute_force(knapsack);
    const auto picks = solve(knapsack);
    ASSERT_EQ(least_budget(knapsack), brute.peak) << i;
    ASSERT_EQ(picks.has_value(), brute.peak <= knapsack.budget) << i;
    ++(picks ? feasible : infeasible);
    if (!picks) continue;
    ASSERT_DOUBLE_EQ(picks->seconds, brute.seconds) << i;
    ASSERT_LE(peak_of(knapsack, picks->items), knapsack.budget) << i;
    ASSERT_EQ(picks->gap(), 0) << i;
  }
  EXPECT_GT(feasible, 1000);
  EXPECT_GT(infeasible, 200);
}

TEST(Knapsack, WithoutEffortStaysInsideTheBudgetAndItsGapIsHonest) {
  Random random(11);
  int with_gap = 0;
  for (int i = 0; i < 300; ++i) {
    const Knapsack knapsack = random.layers(random.number(4, 12), 6);
    const auto exact = solve(knapsack);
    const auto quick = solve(knapsack, {.most_states = 1});
    const auto proven = solve(knapsack, Effort::exact());
    ASSERT_TRUE(exact && quick && proven);
    ASSERT_EQ(proven->gap(), 0);
    ASSERT_NEAR(proven->seconds, exact->seconds, 1e-9 * exact->seconds);
    ASSERT_LE(peak_of(knapsack, quick->items), knapsack.budget);
    ASSERT_GE(quick->seconds, exact->seconds * (1 - 1e-9));
    ASSERT_LE(quick->lower_bound_s, exact->seconds * (1 + 1e-9));
    with_gap += quick->gap() > 0;
  }
  EXPECT_GT(with_gap, 0);
}

TEST(Knapsack, MoreBudgetNeverCostsTime) {
  Random random(13);
  for (int i = 0; i < 4; ++i) {
    Knapsack knapsack = random.layers(40, 10);
    const int64_t least = least_budget(knapsack);
    double last = std::numeric_limits<double>::infinity();
    for (int step = 0; step < 200; ++step) {
      knapsack.budget = least + step * (10 << 20);
      const auto picks = solve(knapsack);
      ASSERT_TRUE(picks);
      ASSERT_LE(picks->seconds, last * (1 + 1e-12)) << step;
      last = picks->seconds;
    }
  }
}

TEST(Knapsack, LeastBudgetIsReachedAndOneByteLessIsNot) {
  Random random(17);
  for (int i = 0; i < 200; ++i) {
    Knapsack knapsack = random.layers(10, 5);
    knapsack.budget = least_budget(knapsack);
    const auto picks = solve(knapsack);
    ASSERT_TRUE(picks);
    EXPECT_EQ(peak_of(knapsack, picks->items), knapsack.budget);
    --knapsack.budget;
    EXPECT_FALSE(solve(knapsack));
  }
}

TEST(Knapsack, EarlierPositionsKeepLessWhereNeedsBindEverywhere) {
  // Two layers, room for one that keeps: the later one may, as nothing of it is held while the
  // earlier runs backward; the earlier one's bytes are held while the later one runs.
  const std::vector<Item> items = {{.retained = 10, .need = 10, .seconds = 0},
                                   {.retained = 1, .need = 10, .seconds = 1}};
  const Knapsack knapsack = {.items = {items, items}, .budget = 11};
  const auto picks = solve(knapsack);
  ASSERT_TRUE(picks);
  EXPECT_EQ(picks->items, (std::vector<int32_t>{1, 0}));
}

}  // namespace
}  // namespace refrain::plan
