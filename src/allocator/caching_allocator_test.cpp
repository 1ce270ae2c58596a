#include "allocator/caching_allocator.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/settings_testing.h"
#include "base/error.h"

namespace refrain::allocator {
namespace {

constexpr Bytes kStep = kBlockStep;

// An allocator of which a test gives sizes and gets sizes.
class Bench {
 public:
  explicit Bench(std::string_view settings, const Limits& limits = {})
      : allocator_(parse(settings), limits) {}

  Handle take(Bytes requested) {
    const std::optional<Handle> block = allocator_.allocate(requested);
    EXPECT_TRUE(block) << requested.count();
    return block.value_or(kNone);
  }
  bool fails(Bytes requested) { return !allocator_.allocate(requested); }
  void free(std::initializer_list<Handle> blocks) {
    for (const Handle block : blocks) allocator_.free(block);
  }
  Bytes bytes(Handle block) const { return allocator_.block(block).bytes; }
  int64_t address(Handle block) const { return allocator_.block(block).address; }
  Bytes reserved() const { return allocator_.usage().reserved; }
  Bytes allocated() const { return allocator_.usage().allocated; }
  int64_t num_retries() const { return allocator_.usage().num_retries; }
  std::vector<Segment> snapshot() const { return allocator_.snapshot(); }
  FreeSpace free_space() const { return allocator_.free_space(); }

 private:
  CachingAllocator allocator_;
};

TEST(CachingAllocator, CountsWhatWasRequestedHandedOutAndReserved) {
  CachingAllocator allocator{Settings()};
  const std::optional<Handle> block = allocator.allocate(Bytes(1000));
  ASSERT_TRUE(block);
  EXPECT_EQ(allocator.usage().requested, Bytes(1000));
  EXPECT_EQ(allocator.usage().allocated, Bytes(1024));
  EXPECT_EQ(allocator.usage().reserved, kMiB * 2);
  allocator.free(*block);
  EXPECT_EQ(allocator.usage().requested, Bytes());
  EXPECT_EQ(allocator.usage().allocated, Bytes());
  EXPECT_EQ(allocator.usage().reserved, kMiB * 2);
  EXPECT_THROW(allocator.free(*block), Bug);
  EXPECT_THROW(allocator.allocate(Bytes()), Bug);
}

TEST(CachingAllocator, SmallAndLargeRequestsDoNotShareSegments) {
  Bench bench("");
  const Handle large = bench.take(kMiB + Bytes(1));
  bench.take(kMiB);  // 18 MiB lie free in the large pool
  EXPECT_EQ(bench.reserved(), kMiB * 22);
  bench.free({large});
  bench.take(kMiB);
  EXPECT_EQ(bench.reserved(), kMiB * 22);
  bench.take(kMiB);  // the small segment is full, and 20 MiB lie free
  EXPECT_EQ(bench.reserved(), kMiB * 24);
}

// A block of 61.14 MiB gets all of its segment of 62 MiB, and that is what counts.
TEST(CachingAllocator, ARestOfUpToOneMebibyteIsHandedOutWithALargeBlock) {
  Bench bench("");
  EXPECT_EQ(bench.bytes(bench.take(Bytes(64'109'568))), Bytes(65'011'712));
  EXPECT_EQ(bench.bytes(bench.take(kMiB * 21)), kMiB * 22);
  EXPECT_EQ(bench.bytes(bench.take(kMiB * 21 - kStep)), kMiB * 21 - kStep);
}

TEST(CachingAllocator, ASmallBlockIsCutDownToTheLast512Bytes) {
  Bench bench("");
  const Handle most = bench.take(kMiB - kStep);
  const Handle half = bench.take(kMiB);
  EXPECT_EQ(bench.bytes(most), kMiB - kStep);
  EXPECT_EQ(bench.bytes(half), kMiB);
  EXPECT_EQ(bench.bytes(bench.take(Bytes(1))), kStep);
  EXPECT_EQ(bench.reserved(), kMiB * 2);
}

// Holes of 4, 3 and again 3 MiB in a segment of 20 MiB, between blocks in use.
TEST(CachingAllocator, TakesTheSmallestHoleThatIsLargeEnoughAndOfEqualOnesTheFirst) {
  Bench bench("");
  const Handle four = bench.take(kMiB * 4);
  bench.take(kMiB * 2);
  const Handle three = bench.take(kMiB * 3);
  bench.take(kMiB * 2);
  const Handle other_three = bench.take(kMiB * 3);
  bench.take(kMiB * 6);
  const int64_t first = bench.address(three), second = bench.address(other_three);
  bench.free({other_three, four, three});
  EXPECT_EQ(bench.address(bench.take(kMiB * 3 - kStep)), first);
  EXPECT_EQ(bench.address(bench.take(kMiB * 3)), second);
  EXPECT_EQ(bench.reserved(), kMiB * 20);
}

TEST(CachingAllocator, FreedBlocksMergeWithBothNeighbours) {
  Bench bench("");
  const Handle a = bench.take(kMiB * 5), b = bench.take(kMiB * 5), c = bench.take(kMiB * 5);
  bench.free({a, c});
  EXPECT_EQ(bench.free_space().largest, kMiB * 10);  // c and the 5 MiB behind it
  EXPECT_EQ(bench.free_space().stuck, kMiB * 15);
  bench.free({b});
  const std::vector<Segment> segments = bench.snapshot();
  ASSERT_EQ(segments.size(), 1u);
  ASSERT_EQ(segments[0].blocks.size(), 1u);
  EXPECT_EQ(segments[0].blocks[0].bytes, kMiB * 20);
  EXPECT_EQ(bench.free_space().total, kMiB * 20);
  EXPECT_EQ(bench.free_space().stuck, Bytes());
}

TEST(CachingAllocator, AtTheLimitFreeSegmentsAreGivenBackAndTheRequestIsServed) {
  Bench bench("", {.device = kMiB * 102});
  const Handle idle = bench.take(kMiB * 60);
  bench.take(kMiB * 38);
  bench.take(Bytes(1));
  EXPECT_EQ(bench.reserved(), kMiB * 100);
  bench.free({idle});
  bench.take(kMiB * 61);  // does not fit into the 60; they go, and 62 come
  EXPECT_EQ(bench.reserved(), kMiB * 102);
  EXPECT_EQ(bench.num_retries(), 1);
}

// Two segments of 20 MiB, each with 9 MiB free, 9 in use and 2 free.
TEST(CachingAllocator, ARequestFailsWhereSegmentsInUseHoldTheMemory) {
  Bench bench("", {.device = kMiB * 40});
  const Handle a = bench.take(kMiB * 9);
  bench.take(kMiB * 9);
  const Handle c = bench.take(kMiB * 9);
  bench.take(kMiB * 9);
  bench.free({a, c});
  EXPECT_TRUE(bench.fails(kMiB * 9 + kStep));
  EXPECT_EQ(bench.allocated(), kMiB * 18);
  EXPECT_EQ(bench.reserved(), kMiB * 40);
  EXPECT_EQ(bench.free_space().total, kMiB * 22);
  EXPECT_EQ(bench.free_space().largest, kMiB * 9);
  EXPECT_EQ(bench.free_space().stuck, kMiB * 22);
  EXPECT_EQ(bench.bytes(bench.take(kMiB * 9)), kMiB * 9);
}

TEST(CachingAllocator, TheLowerOfTheTwoLimitsCounts) {
  EXPECT_TRUE(Bench("", {.device = kMiB * 19}).fails(kMiB * 2));
  EXPECT_TRUE(Bench("", {.device = kMiB * 40, .process = kMiB * 19}).fails(kMiB * 2));
  EXPECT_FALSE(Bench("", {.device = kMiB * 20, .process = kMiB * 20}).fails(kMiB * 2));
  EXPECT_EQ(lowest({.device = kMiB * 3, .process = kMiB * 2}), kMiB * 2);
  EXPECT_EQ(lowest({.device = kMiB * 3}), kMiB * 3);
  EXPECT_EQ(lowest({.process = kMiB * 2}), kMiB * 2);
  EXPECT_FALSE(lowest({}));
}

TEST(CachingAllocator, RequestsFromAnExbibyteOnAreRefusedUnseen) {
  for (const char* settings : {"", "expandable_segments:True"}) {
    Bench bench(settings, {.device = kMiB * 100});
    bench.free({bench.take(kMiB * 40)});
    EXPECT_TRUE(bench.fails(kRefused));
    EXPECT_TRUE(bench.fails(Bytes(std::numeric_limits<int64_t>::max())));
    EXPECT_EQ(bench.reserved(), kMiB * 40);
    EXPECT_EQ(bench.num_retries(), 0);
    EXPECT_TRUE(bench.fails(kRefused - Bytes(1)));  // tried, after all was given back
    EXPECT_EQ(bench.reserved(), Bytes());
    EXPECT_EQ(bench.num_retries(), 1);
  }
}

TEST(CachingAllocator, WithoutALimitThereAreFourExbibytes) {
  for (const Limits& limits : {Limits(), Limits{.device = kRefused * 7}}) {
    Bench bench("", limits);
    for (int i = 0; i < 4; ++i) bench.take(kRefused - Bytes(1));
    EXPECT_EQ(bench.reserved(), kRefused * 4);
    EXPECT_TRUE(bench.fails(Bytes(1)));
  }
}

TEST(CachingAllocator, ASegmentMayBeLargerThanAnyDevice) {
  const std::string large = "large_segment_size_mb:18446744073709551615";
  for (const std::string& settings : {large, large + ",expandable_segments:True"}) {
    Bench at_a_limit(settings, {.device = kMiB * 100});
    EXPECT_TRUE(at_a_limit.fails(kMiB * 2));
    EXPECT_FALSE(at_a_limit.fails(kMiB));
    Bench endless(settings);
    EXPECT_FALSE(endless.fails(kMiB * 2));
    EXPECT_GE(endless.reserved(), kRefused);
  }
}

TEST(CachingAllocator, AFractionLimitsTheProcess) {
  const Limits half = limits_of(kMiB * 100, parse("per_process_memory_fraction:0.5"));
  EXPECT_EQ(half.device, kMiB * 100);
  EXPECT_EQ(half.process, kMiB * 50);
  EXPECT_FALSE(limits_of(kMiB * 100, Settings()).process);
}

TEST(Oversize, OversizeBlocksAreNeverCutAndServeOversizeRequestsOnly) {
  Bench bench("max_split_size_mb:100");
  const Handle block = bench.take(kMiB * 140);
  bench.free({block});
  bench.take(kMiB * 100 - kStep);  // not oversize
  EXPECT_EQ(bench.reserved(), kMiB * 240);
  bench.take(kMiB * 120);  // 20 MiB would lie idle, which is too much
  EXPECT_EQ(bench.reserved(), kMiB * 360);
  EXPECT_EQ(bench.bytes(bench.take(kMiB * 120 + kStep)), kMiB * 140);
  EXPECT_EQ(bench.reserved(), kMiB * 360);
}

TEST(Oversize, TheToleranceIsSet) {
  Bench bench("max_split_size_mb:100,max_non_split_rounding_mb:41");
  bench.free({bench.take(kMiB * 140)});
  EXPECT_EQ(bench.bytes(bench.take(kMiB * 100)), kMiB * 140);
  EXPECT_EQ(bench.reserved(), kMiB * 140);
}

// Cached: 110, 130 and 150 MiB oversize, and 40 MiB that are not.
struct Cached {
  explicit Cached(Bytes limit) : bench("max_split_size_mb:100", {.device = limit}) {
    const Handle a = bench.take(kMiB * 110), b = bench.take(kMiB * 130);
    const Handle c = bench.take(kMiB * 150), d = bench.take(kMiB * 40);
    bench.free({a, b, c, d});
  }
  Bench bench;
};

TEST(Oversize, AtTheLimitTheSmallestOversizeBlockThatIsLargeEnoughGoes) {
  Cached cached(kMiB * 430);
  cached.bench.take(kMiB * 50);  // 100 MiB would be enough: 110 go
  EXPECT_EQ(cached.bench.reserved(), kMiB * 370);
  EXPECT_EQ(cached.bench.num_retries(), 0);
}

TEST(Oversize, AtTheLimitTheLargestGoUntilTheirSumIsEnough) {
  Cached cached(kMiB * 430);
  cached.bench.take(kMiB * 200);  // 150 and 130 go, 110 and 40 stay
  EXPECT_EQ(cached.bench.reserved(), kMiB * 350);
  EXPECT_EQ(cached.bench.num_retries(), 0);
  EXPECT_EQ(cached.bench.free_space().total, kMiB * 150);
}

TEST(Oversize, WhereThatIsNotEnoughAllGoes) {
  Cached cached(kMiB * 430);
  cached.bench.take(kMiB * 420);
  EXPECT_EQ(cached.bench.reserved(), kMiB * 420);
  EXPECT_EQ(cached.bench.num_retries(), 1);
}

// 200 MiB allowed, collection above 100. The 40 MiB have been passed over twice, the 50 once, and
// 36 MiB are too many.
TEST(GarbageCollection, GivesBackWhatHasLainIdleForLongest) {
  Bench bench("garbage_collection_threshold:0.5", {.process = kMiB * 200});
  const Handle first = bench.take(kMiB * 40), second = bench.take(kMiB * 50);
  bench.free({first});
  bench.take(kMiB * 46);
  bench.free({second});
  EXPECT_EQ(bench.reserved(), kMiB * 136);
  bench.take(kMiB * 60);
  EXPECT_EQ(bench.reserved(), kMiB * (136 - 40 + 60));
  EXPECT_EQ(bench.free_space().total, kMiB * 50);
  EXPECT_EQ(bench.num_retries(), 0);
}

// As before, with 38 MiB more than are allowed: when the 40 are gone it goes on with the 50.
TEST(GarbageCollection, GoesOnUntilTheExcessIsGone) {
  Bench bench("garbage_collection_threshold:0.5", {.process = kMiB * 200});
  const Handle first = bench.take(kMiB * 40), second = bench.take(kMiB * 50);
  bench.free({first});
  bench.take(kMiB * 52);
  bench.free({second});
  bench.take(kMiB * 60);  // 42 MiB too many
  EXPECT_EQ(bench.reserved(), kMiB * (52 + 60));
}

Bytes reserved_with_collection(Bytes in_use, const Limits& limits) {
  Bench bench("garbage_collection_threshold:0.5", limits);
  const Handle idle = bench.take(kMiB * 40);
  bench.take(in_use);
  bench.free({idle});
  bench.take(kMiB * 50);
  return bench.reserved();
}

TEST(GarbageCollection, StartsAboveTheThresholdOfTheProcessLimit) {
  const Limits process{.process = kMiB * 200}, device{.device = kMiB * 200};
  EXPECT_EQ(reserved_with_collection(kMiB * 60, process), kMiB * (40 + 60 + 50));
  EXPECT_EQ(reserved_with_collection(kMiB * 62, process), kMiB * (62 + 50));
  EXPECT_EQ(reserved_with_collection(kMiB * 62, device), kMiB * (40 + 62 + 50));
}

TEST(Expandable, PagesAreMappedAsTheyAreNeeded) {
  Bench bench("expandable_segments:True");
  bench.take(kMiB * 15);
  EXPECT_EQ(bench.reserved(), kMiB * 20);
  bench.take(kMiB * 5);
  EXPECT_EQ(bench.reserved(), kMiB * 20);
  bench.take(kMiB + kStep);
  EXPECT_EQ(bench.reserved(), kMiB * 40);
  bench.take(kMiB);
  EXPECT_EQ(bench.reserved(), kMiB * 42);
  EXPECT_EQ(bench.snapshot().size(), 2u);
}

TEST(Expandable, BlocksAreCutTo512BytesInBothPools) {
  Bench bench("expandable_segments:True");
  EXPECT_EQ(bench.bytes(bench.take(Bytes(64'109'568))), Bytes(64'109'568));
  EXPECT_EQ(bench.reserved(), kMiB * 80);
}

// What ordinary segments leave in pieces is one piece here.
TEST(Expandable, AFreeBlockAtTheEndIsExtended) {
  Bench bench("expandable_segments:True");
  const Handle a = bench.take(kMiB * 10), b = bench.take(kMiB * 30);
  bench.free({b});
  const int64_t behind_a = bench.address(a) + (kMiB * 10).count();
  const Handle c = bench.take(kMiB * 70);
  EXPECT_EQ(bench.address(c), behind_a);
  EXPECT_EQ(bench.reserved(), kMiB * 80);
  EXPECT_EQ(bench.snapshot().size(), 1u);
}

// A hole of 30 MiB, and at the end 20 MiB that can grow: the hole is the better fit.
TEST(Expandable, TheBlockThatCanGrowCountsForAsMuchAsItCanGrowTo) {
  Bench bench("expandable_segments:True");
  const Handle hole = bench.take(kMiB * 30);
  bench.take(kMiB * 10);
  const Handle tail = bench.take(kMiB * 20);
  const int64_t expected = bench.address(hole);
  bench.free({hole, tail});
  EXPECT_EQ(bench.address(bench.take(kMiB * 15)), expected);
}

// Pages of 20 MiB. In front 5 MiB in use and 40 free, then 40 in use, then 15 free at the end.
TEST(Expandable, AtTheLimitWholeFreePagesAreUnmappedAndMappedAgainElsewhere) {
  Bench bench("expandable_segments:True", {.device = kMiB * 122});
  const Handle front = bench.take(kMiB * 45), middle = bench.take(kMiB * 40);
  bench.take(Bytes(1));
  bench.free({front});
  EXPECT_EQ(bench.address(bench.take(kMiB * 5)), bench.address(middle) - (kMiB * 45).count());
  EXPECT_EQ(bench.reserved(), kMiB * 102);
  EXPECT_EQ(bench.free_space().stuck, kMiB * (15 + 5 + 15 + 2) - kStep);
  const Handle more = bench.take(kMiB * 50);  // the 15 and two pages, one of which comes from front
  EXPECT_EQ(bench.address(more), bench.address(middle) + (kMiB * 40).count());
  EXPECT_EQ(bench.num_retries(), 1);
  EXPECT_EQ(bench.reserved(), kMiB * 122);
  EXPECT_TRUE(bench.fails(kMiB * 15 + kStep));
  EXPECT_FALSE(bench.fails(kMiB * 15));
}

TEST(Expandable, GapsAreFilledBeforeTheSegmentGrows) {
  Bench bench("expandable_segments:True", {.device = kMiB * 100});
  const Handle front = bench.take(kMiB * 40);
  const Handle back = bench.take(kMiB * 20);
  const int64_t start = bench.address(front);
  bench.free({front});
  EXPECT_TRUE(bench.fails(kMiB * 100));  // but the pages of `front` are unmapped now
  EXPECT_EQ(bench.reserved(), kMiB * 20);
  EXPECT_EQ(bench.address(bench.take(kMiB * 30)), start);
  EXPECT_EQ(bench.reserved(), kMiB * 60);
  bench.free({back});
}

TEST(Expandable, ASegmentWithoutMemoryIsGivenUp) {
  Bench bench("expandable_segments:True", {.device = kMiB * 100});
  bench.free({bench.take(kMiB * 40)});
  EXPECT_TRUE(bench.fails(kMiB * 300));
  EXPECT_EQ(bench.reserved(), Bytes());
  EXPECT_TRUE(bench.snapshot().empty());
  bench.take(kMiB * 100);
  EXPECT_EQ(bench.reserved(), kMiB * 100);
}

TEST(Expandable, AddressesDoNotRunOutHoweverOftenASegmentGoes) {
  Bench bench("expandable_segments:True", {.process = kMiB * 100});
  for (int times = 0; times < 5000; ++times) {
    bench.free({bench.take(kMiB * 40), bench.take(kMiB)});
    ASSERT_TRUE(bench.fails(kMiB * 300));
    ASSERT_EQ(bench.reserved(), Bytes());
  }
}

// 50 of 60 MiB in use: 25 more need one page, but the limit of the process is held against 26 MiB.
TEST(Expandable, TheProcessLimitIsHeldAgainstTheWholeRequest) {
  for (const bool process : {false, true}) {
    Bench bench("expandable_segments:True",
                process ? Limits{.process = kMiB * 80} : Limits{.device = kMiB * 80});
    bench.take(kMiB * 50);
    EXPECT_EQ(bench.fails(kMiB * 25), process);
  }
}

// And so the last page may exceed it.
TEST(Expandable, TheLastPageMayExceedTheProcessLimit) {
  Bench bench("expandable_segments:True", {.process = kMiB * 30});
  bench.take(kMiB * 30);
  EXPECT_EQ(bench.reserved(), kMiB * 40);
}

}  // namespace
}  // namespace refrain::allocator
