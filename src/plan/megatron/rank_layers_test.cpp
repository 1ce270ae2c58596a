#include "plan/megatron/rank_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "cost/step_time.h"
#include "plan/megatron/llama3_70b.h"

namespace refrain::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Two ranks of two chunks of two layers each, small enough to try every plan.
mcore::Run small_pipeline() {
  mcore::Run run = llama3_70b();
  run.model.layers.resize(8);
  run.parallel.pipeline = 2;
  run.parallel.virtual_stages = 2;
  run.parallel.num_gpus = 16;
  return run;
}

struct Rank {
  std::vector<KindChoices> kinds;
  RankLayers layers;

  Rank(const mcore::Run& run, int64_t rank)
      : kinds{layer_choices(run, h100(), run.model.layers[0])},
        layers(run, rank, kinds, load(run, rank), h100()) {}

  static cost::LayerTime load(mcore::Run run, int64_t rank) {
    run.layer_recompute.resize(run.model.layers.size());
    return cost::step_time(run, h100()).ranks[rank];
  }
};

/// By trying all.
double least_by_force(const Rank& rank, Bytes room) {
  const auto num_choices = static_cast<int32_t>(rank.kinds[0].choices.size());
  ChoiceOfLayer choices(rank.layers.layers().size(), 0);
  double least = kNever;
  while (true) {
    if (rank.layers.retained(choices) <= room) {
      least = std::min(least, rank.layers.seconds(choices));
    }
    size_t digit = 0;
    while (digit < choices.size() && ++choices[digit] == num_choices) choices[digit++] = 0;
    if (digit == choices.size()) return least;
  }
}

TEST(LayerChoices, OfADenseLayerKeepLessTheMoreTheyReplay) {
  const mcore::Run run = llama3_70b();
  const KindChoices kind = layer_choices(run, h100(), run.model.layers[0]);
  EXPECT_EQ(kind.examined, 9);  // subsets of core_attn, layernorm, mlp; and the whole layer
  ASSERT_GE(kind.choices.size(), 3u);
  EXPECT_EQ(kind.choices.front().recompute, mcore::Recompute{});
  EXPECT_EQ(kind.choices.front().replay.gpu_s, 0);
  // The whole layer keeps its input: 4096 tokens of 8192 in bfloat16 over 4 tensor ranks.
  EXPECT_EQ(kind.choices.back().retained, Bytes(4096 * 8192 * 2 / 4));
  for (size_t i = 1; i < kind.choices.size(); ++i) {
    EXPECT_LT(kind.choices[i].retained, kind.choices[i - 1].retained);
  }
}

TEST(RankLayers, FindsTheLeastAndBoundsIt) {
  for (int64_t index = 0; index < 2; ++index) {
    const Rank rank(small_pipeline(), index);
    const Bytes most = rank.layers.retained(ChoiceOfLayer(4, 0));
    for (int percent = 0; percent <= 100; ++percent) {
      SCOPED_TRACE(percent);
      const Bytes room(most.count() * percent / 100);
      const double least = least_by_force(rank, room);
      const auto found = rank.layers.within(room);
      const auto bound = rank.layers.least_seconds(room, room);
      ASSERT_EQ(found.has_value(), least < kNever);
      if (!found) continue;
      EXPECT_LE(rank.layers.retained(*found), room);
      EXPECT_NEAR(rank.layers.seconds(*found), least, 2e-3 * least);
      EXPECT_GE(rank.layers.seconds(*found), least * (1 - 1e-12));
      ASSERT_TRUE(bound);
      EXPECT_LE(*bound, least * (1 + 1e-9));
      EXPECT_GE(*bound, least * 0.98);
    }
  }
}

TEST(RankLayers, LeanerLayersComeFirstInTheirChunk) {
  mcore::Run run = llama3_70b();
  const Rank rank(run, 0);
  const auto found =
      rank.layers.within(Bytes(rank.layers.retained(ChoiceOfLayer(20, 0)).count() * 7 / 10));
  ASSERT_TRUE(found);
  for (size_t i = 1; i < found->size(); ++i) {
    if (rank.layers.layers()[i].chunk != rank.layers.layers()[i - 1].chunk) continue;
    EXPECT_LE(found->at(i), found->at(i - 1));  // choices are sorted by bytes, the most first
  }
}

}  // namespace
}  // namespace refrain::plan
