#include "mcore/memory/tape/caches.h"

#include <gtest/gtest.h>

#include "mcore/memory/tape/gpt_example.h"

namespace refrain::mcore::memory {
namespace {

constexpr int64_t kMiB = 1 << 20;

struct Asked {
  size_t events = 0;
  int64_t bytes = 0;
};

template <class Use>
Asked asked(const Run& run, Use use) {
  Memory memory;
  Caches caches(run, memory);
  use(caches);
  const allocator::Stream stream = memory.take();
  Asked sum{stream.events.size()};
  for (const auto& event : stream.events) sum.bytes += event.bytes.count();
  return sum;
}

TEST(Caches, EveryThreadHasOneCublasWorkspace) {
  mcore::Run run = gpt_example();
  const auto use = [](Caches& caches) {
    for (int i = 0; i < 2; ++i) {
      caches.cublas(Thread::kForward);
      caches.cublas(Thread::kBackward);
    }
  };
  EXPECT_EQ(asked(run, use).bytes, 64 * kMiB);
  run.place.cublas_32mib = false;
  EXPECT_EQ(asked(run, use).bytes, 2 * 8519680);
}

TEST(Caches, LinearsOfTheLocalSpecUseCublas) {
  mcore::Run run = gpt_example();
  const auto use = [](Caches& caches) { caches.linear(Thread::kForward); };
  EXPECT_EQ(asked(run, use).bytes, 4 * kMiB);
  run.place.compute_capability = 90;
  EXPECT_EQ(asked(run, use).bytes, 32 * kMiB + 1024);
  run.place.tp_overlap = true;
  EXPECT_EQ(asked(run, use).bytes, 4 * (32 * kMiB + 1024));
  run.place.transformer_engine = false;
  EXPECT_EQ(asked(run, use).bytes, 32 * kMiB);
}

TEST(Caches, TheGlobalBufferGrowsToTheLargestRequest) {
  const Asked sum = asked(gpt_example(), [](Caches& caches) {
    caches.global_buffer(100);
    caches.global_buffer(50);
    caches.global_buffer(200);
  });
  EXPECT_EQ(sum.bytes, 300);
  EXPECT_EQ(sum.events, 3u);  // the smaller one goes
}

TEST(Caches, FusedWeightGradientsLeaveOneStandInForEachShape) {
  mcore::Run run = gpt_example();
  const auto use = [](Caches& caches) {
    caches.weight_gradients({8, 4});
    caches.weight_gradients({8, 4}, 3);
    caches.weight_gradients({4, 8});
  };
  EXPECT_EQ(asked(run, use).events, 10u);  // five of each, gone again
  run.numerics.gradient_fusion = true;
  EXPECT_EQ(asked(run, use).events, 2u);
  run.place.old_recording = run.place.lts = true;
  EXPECT_EQ(asked(run, use).events, 10u);
}

}  // namespace
}  // namespace refrain::mcore::memory
