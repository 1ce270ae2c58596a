#include "mcore/memory/state/buffer_layout.h"

#include <gtest/gtest.h>

#include "mcore/memory/tape/gpt_example.h"

namespace refrain::mcore::memory {
namespace {

Parameter of(int64_t elements) { return {.elements = elements}; }

TEST(BufferLayout, StartsAtMultiplesOf64AndEndsWhereAllShardsDivide) {
  // Last first: 10 at 0, 100 at 64, 200 at 192; 392 rounded up to lcm(3, 128).
  const BufferLayout layout = lay_out({of(200), of(100), of(10)}, {.shards = 3});
  EXPECT_EQ(layout.elements, 768);
  EXPECT_TRUE(layout.shards.empty());  // the last third is padding
  EXPECT_EQ(lay_out({of(128)}, {.shards = 1}).elements, 128);
  EXPECT_EQ(lay_out({of(129)}, {.shards = 1}).elements, 256);
}

TEST(BufferLayout, TheLastRankOwnsTheLastPartOfEachBucket) {
  const BufferLayout layout = lay_out({of(256), of(256)}, {.shards = 4});
  EXPECT_EQ(layout.shards, (std::vector<int64_t>{128}));
  const BufferLayout whole = lay_out({of(256), of(100)}, {.shards = 1});
  EXPECT_EQ(whole.shards, (std::vector<int64_t>{100, 256}));
}

TEST(BufferLayout, ABucketEndsOnceItIsLargeEnough) {
  LayoutRules rules{.shards = 2, .bucket_elements = 256};
  EXPECT_EQ(lay_out({of(128), of(128), of(128)}, rules).shards, (std::vector<int64_t>{128, 64}));
  rules.bucket_elements.reset();
  EXPECT_EQ(lay_out({of(128), of(128), of(128)}, rules).shards, (std::vector<int64_t>{64, 128}));
}

TEST(BufferLayout, ASharedEmbeddingHasABucketOfItsOwn) {
  const Parameter shared{.elements = 256, .shared_embedding = true};
  EXPECT_EQ(lay_out({shared, of(256)}, {.shards = 2}).shards, (std::vector<int64_t>{128, 128}));
  EXPECT_EQ(lay_out({of(256), of(256)}, {.shards = 2}).shards, (std::vector<int64_t>{256}));
}

TEST(BufferLayout, PaddingForBusBandwidthIsTo65536Elements) {
  EXPECT_EQ(lay_out({of(1)}, {.shards = 8, .pad_buckets = true}).elements, 65536);
}

TEST(BufferLayout, OnlyTheFirstChunkIsCutIntoBuckets) {
  mcore::Run run = gpt_example();
  run.optimizer.overlap_grad_reduce = true;
  EXPECT_EQ(layout_rules(run, false, true).bucket_elements, 40'000'000);
  EXPECT_FALSE(layout_rules(run, false, false).bucket_elements);
  run.parallel.data = 64;
  EXPECT_EQ(layout_rules(run, false, true).bucket_elements, 64'000'000);
  run.optimizer.overlap_grad_reduce = false;
  EXPECT_FALSE(layout_rules(run, false, true).bucket_elements);
}

TEST(BufferLayout, ExpertsAreShardedOverTheirOwnReplicas) {
  mcore::Run run = gpt_example();
  run.parallel = {.num_gpus = 16, .tensor = 2, .context = 2, .expert = 4, .data = 4};
  EXPECT_EQ(optimizer_shards(run, false), 8);
  EXPECT_EQ(optimizer_shards(run, true), 4);
  run.optimizer.instances = 2;
  EXPECT_EQ(optimizer_shards(run, false), 4);
  run.parallel.expert = 16;
  EXPECT_EQ(optimizer_shards(run, true), 1);
}

}  // namespace
}  // namespace refrain::mcore::memory
