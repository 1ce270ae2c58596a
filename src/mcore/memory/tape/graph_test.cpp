#include "mcore/memory/tape/graph.h"

#include <gtest/gtest.h>

#include <utility>

#include "allocator/replay.h"
#include "allocator/stream.h"

namespace refrain::mcore::memory {
namespace {

using allocator::Event;

/// Bytes allocated and not freed after every event.
std::vector<int64_t> live_after(const allocator::Stream& stream) {
  std::vector<int64_t> bytes(static_cast<size_t>(stream.num_blocks)), live;
  int64_t sum = 0;
  for (const Event& event : stream.events) {
    if (event.kind == Event::Kind::kAllocate) bytes[event.block] = event.bytes.count();
    sum += event.kind == Event::Kind::kAllocate ? bytes[event.block] : -bytes[event.block];
    live.push_back(sum);
  }
  return live;
}

TEST(Storage, LivesUntilTheLastTensorLetsGo) {
  Memory memory;
  Tensor whole(memory.allocate(100, "saved/x"));
  Tensor view(whole.storage, 40);
  EXPECT_EQ(view.bytes(), 40);
  whole = Tensor{};
  EXPECT_EQ(view.storage->bytes(), 100);
  view = Tensor{};
  EXPECT_EQ(live_after(memory.take()), (std::vector<int64_t>{100, 0}));
}

TEST(Storage, GivesItsMemoryBackOnceAndTakesItAgain) {
  Memory memory;
  const Storage storage = memory.allocate(100, "saved/x");
  storage->discard();
  storage->discard();
  EXPECT_FALSE(storage->resident());
  storage->restore();
  storage->restore();
  EXPECT_EQ(live_after(memory.take()), (std::vector<int64_t>{100, 0, 100}));
}

TEST(Storage, OfNoBytesIsNone) {
  Memory memory;
  EXPECT_EQ(memory.allocate(0, "saved/x"), nullptr);
  EXPECT_TRUE(memory.take().events.empty());
}

TEST(Graph, RunsNodesBackwardsAndLetsWhatTheySavedGoBeforeGradientsAreAdded) {
  Memory memory;
  Graph graph(memory);
  Tensor x(memory.allocate(8, "x"));
  const GradientSlot slot = x.gradient;
  std::vector<int> order;
  for (int i = 0; i < 2; ++i) {
    graph.record({memory.allocate(32, "saved/a")}, [&, i]() -> Gradients {
      order.push_back(i);
      return {{slot, memory.allocate(8, "gradient/x")}};
    });
  }
  graph.backward();
  EXPECT_EQ(order, (std::vector<int>{1, 0}));
  // x, two saved; a gradient, a saved one goes; a gradient, the other goes; their sum, both go.
  EXPECT_EQ(live_after(memory.take()),
            (std::vector<int64_t>{8, 40, 72, 80, 48, 56, 24, 32, 24, 16}));
}

TEST(Graph, WithoutGradientsHoldsWhatNodesSavedToTheEndOfTheLayerOnly) {
  Memory memory;
  Graph graph(memory, Graph::Mode::kNoGradients);
  graph.record({memory.allocate(32, "saved/a")}, []() -> Gradients { return {}; });
  graph.end_of_layer();
  EXPECT_EQ(live_after(memory.take()).back(), 0);

  Memory kept;
  Graph with_gradients(kept);
  with_gradients.record({kept.allocate(32, "saved/a")}, []() -> Gradients { return {}; });
  with_gradients.end_of_layer();
  EXPECT_EQ(live_after(kept.take()).back(), 32);
}

TEST(OffloadGroup, BringsATensorBackTwiceThatJoinedTwice) {
  Memory memory;
  const Storage once = memory.allocate(1024, "saved/x"), twice = memory.allocate(2048, "saved/y");
  {
    OffloadGroup group(16);
    for (const Storage& storage : {twice, once, twice}) group.add(storage);
    EXPECT_EQ(group.bytes(), 1024 + 2048);
    group.evict();
    group.reload();
    group.reload();  // all is back
  }
  const allocator::Result result = allocator::replay(memory.take(), {});
  EXPECT_EQ(result.allocated.bytes, Bytes(1024 + 2 * 2048));
  EXPECT_EQ(result.end.usage.allocated, Bytes(1024 + 2048));  // the copy went with the group
}

TEST(OffloadGroup, LeavesSmallTensorsAndThoseThatAreGone) {
  Memory memory;
  Graph graph(memory);
  const auto group = std::make_shared<OffloadGroup>(16);
  const Storage small = memory.allocate(15, "saved/a"), large = memory.allocate(16, "saved/b");
  Storage gone = memory.allocate(64, "saved/c");
  graph.open(group);
  graph.record({small, large, gone}, []() -> Gradients { return {}; });
  graph.close();
  graph.record({memory.allocate(128, "saved/d")}, []() -> Gradients { return {}; });
  group->evict();
  EXPECT_TRUE(small->resident());
  EXPECT_FALSE(large->resident());
  EXPECT_FALSE(gone->resident());
  gone.reset();
  graph.backward();
  group->reload();
  EXPECT_TRUE(large->resident());
  EXPECT_EQ(live_after(memory.take()).back(), 31);
}

}  // namespace
}  // namespace refrain::mcore::memory
