#include "mcore/memory/tape/offload_order.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace refrain::mcore::memory {
namespace {

/// A rank that forwards chunks of two groups of "mlp" and of one of "attn".
class OffloadOrderTest : public ::testing::Test {
 protected:
  struct Forward {
    OffloadOrder::ChunkPtr chunk;
    std::vector<Storage> storages;  // of the groups, in order
  };

  void add(Forward& forward, const OffloadStack& away, const char* module) {
    forward.chunk = order_.open(away, module);
    forward.storages.push_back(memory_.allocate(1024, "saved/x"));
    const auto group = std::make_shared<OffloadGroup>(0);
    group->add(forward.storages.back());
    if (order_.stays(*forward.chunk, module)) return;
    group->evict();
    away->push_back(group);
  }

  Forward forward() {
    Forward forward;
    const auto away = std::make_shared<std::vector<OffloadGroupPtr>>();
    for (const char* module : {"attn", "mlp", "mlp"}) add(forward, away, module);
    return forward;
  }

  static std::vector<bool> resident(const Forward& forward) {
    std::vector<bool> resident;
    for (const Storage& storage : forward.storages) resident.push_back(storage->resident());
    return resident;
  }

  /// A first round of two forwards, whose backwards come in the same order.
  void learn() {
    const Forward first = forward(), second = forward();
    order_.begin_backward(*first.chunk);
    order_.begin_backward(*second.chunk);
  }

  Memory memory_;
  OffloadOrder order_;
};

using Resident = std::vector<bool>;

TEST_F(OffloadOrderTest, EverythingLeavesInTheFirstRound) {
  EXPECT_EQ(resident(forward()), (Resident{false, false, false}));
}

TEST_F(OffloadOrderTest, TheLastGroupOfEachModuleStaysWhereBackwardIsNext) {
  learn();
  EXPECT_EQ(resident(forward()), (Resident{true, false, true}));
  EXPECT_EQ(resident(forward()), (Resident{false, false, false}));
}

TEST_F(OffloadOrderTest, GroupsComeBackOneByOneThenThoseOfTheNextChunk) {
  learn();
  const Forward first = forward(), second = forward();
  order_.begin_backward(*first.chunk);
  order_.reload_ahead(*first.chunk);
  EXPECT_EQ(resident(first), (Resident{true, true, true}));
  EXPECT_EQ(resident(second), (Resident{false, false, false}));
  order_.reload_ahead(*first.chunk);
  order_.reload_ahead(*first.chunk);
  EXPECT_EQ(resident(second), (Resident{false, true, true}));
  order_.begin_backward(*second.chunk);
  order_.reload_ahead(*second.chunk);
  order_.reload_ahead(*second.chunk);  // there is no chunk behind it
  EXPECT_EQ(resident(second), (Resident{true, true, true}));
}

TEST_F(OffloadOrderTest, NothingComesBackOfAChunkThatStillRunsForward) {
  learn();
  const Forward first = forward();
  Forward second;
  add(second, std::make_shared<std::vector<OffloadGroupPtr>>(), "attn");
  order_.begin_backward(*first.chunk);
  order_.reload_ahead(*first.chunk);
  order_.reload_ahead(*first.chunk);
  EXPECT_EQ(resident(second), (Resident{false}));
}

TEST_F(OffloadOrderTest, AChunkAloneIsAlwaysNext) {
  order_.begin_backward(*forward().chunk);
  for (int round = 0; round < 2; ++round) {
    const Forward alone = forward();
    EXPECT_EQ(resident(alone), (Resident{true, false, true}));
    order_.begin_backward(*alone.chunk);
  }
}

}  // namespace
}  // namespace refrain::mcore::memory
