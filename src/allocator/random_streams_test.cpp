// Properties that hold for every stream, tried on random ones; and totals of such streams that
// PyTorch's own allocator has counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/recorder.h"
#include "allocator/replay.h"
#include "allocator/settings_testing.h"

namespace refrain::allocator {
namespace {

// Knuth's MMIX generator: the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  int64_t below(int64_t end) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(end));
  }

 private:
  uint64_t state_;
};

// Half of the requests up to 1 MiB, a third up to 12 MiB, the rest up to 140 MiB in steps of 1 KiB.
int64_t random_size(Random& random) {
  const int64_t kind = random.below(6);
  if (kind < 3) return 1 + random.below(1 << 20);
  if (kind < 5) return 1 + random.below(12 << 20);
  return 1024 * (1 + random.below(140 << 10));
}

// Grows to about `num_live` blocks, and shrinks to a quarter and grows again every 2000 events.
Stream random_stream(uint64_t seed, int num_events, int64_t num_live) {
  Random random(seed);
  Recorder recorder;
  const PostingId posting = recorder.posting("saved");
  std::vector<BlockId> live;
  for (int event = 0; event < num_events; ++event) {
    const int64_t wanted = event % 2000 < 1500 ? num_live : num_live / 4;
    const bool frees = random.below(2 * wanted) < static_cast<int64_t>(live.size());
    if (frees && !live.empty()) {
      std::swap(live[random.below(static_cast<int64_t>(live.size()))], live.back());
      recorder.free(live.back());
      live.pop_back();
    } else {
      live.push_back(recorder.allocate(random_size(random), posting));
    }
  }
  return recorder.take();
}

// Plays events on an allocator, and goes on after requests that fail.
class Player {
 public:
  explicit Player(CachingAllocator& allocator) : allocator_(allocator) {}

  /// The block it was about; nothing where a request failed or its block was never there.
  std::optional<Block> play(const Event& event) {
    if (event.kind == Event::Kind::kAllocate) {
      const std::optional<Handle> handle = allocator_.allocate(event.bytes);
      if (!handle) return std::nullopt;
      live_[event.block] = *handle;
      return allocator_.block(*handle);
    }
    const auto live = live_.find(event.block);
    if (live == live_.end()) return std::nullopt;
    const Block block = allocator_.block(live->second);
    allocator_.free(live->second);
    live_.erase(live);
    return block;
  }

  void free_all() {
    for (const auto& [id, handle] : live_) allocator_.free(handle);
    live_.clear();
  }

 private:
  CachingAllocator& allocator_;
  std::map<BlockId, Handle> live_;
};

// The default rules once more, written down as plainly as can be: all blocks in lists by segment,
// and every one of them looked at for every request.
class PlainAllocator {
 public:
  explicit PlainAllocator(int64_t limit) : limit_(limit) {}

  struct Place {
    int64_t address = -1, bytes = 0;
    bool operator==(const Place&) const = default;
  };

  Place allocate(int64_t requested) {
    const int64_t bytes = (requested + 511) / 512 * 512;
    const bool small = bytes <= 1 << 20;
    if (!hole(bytes, small) && !reserve(bytes, small)) {
      std::erase_if(segments_, [](const Segment& s) { return s.size() == 1 && !s[0].used; });
      if (!reserve(bytes, small)) return {};
    }
    const auto [segment, index] = *hole(bytes, small);
    Part& part = (*segment)[index];
    const int64_t rest = part.bytes - bytes;
    part.used = true;
    if (small ? rest < 512 : rest <= 1 << 20) return {part.address, part.bytes};
    const Part behind{part.address + bytes, rest, small, false};
    part.bytes = bytes;
    segment->insert(segment->begin() + static_cast<int64_t>(index) + 1, behind);
    return {behind.address - bytes, bytes};
  }

  void free(int64_t address) {
    for (Segment& segment : segments_) {
      for (Part& part : segment) part.used = part.used && part.address != address;
      for (size_t i = 0; i + 1 < segment.size();) {
        if (segment[i].used || segment[i + 1].used) {
          ++i;
          continue;
        }
        segment[i].bytes += segment[i + 1].bytes;
        segment.erase(segment.begin() + static_cast<int64_t>(i) + 1);
      }
    }
  }

  int64_t reserved() const {
    int64_t sum = 0;
    for (const Segment& segment : segments_) {
      for (const Part& part : segment) sum += part.bytes;
    }
    return sum;
  }

 private:
  struct Part {
    int64_t address, bytes;
    bool small, used;
  };
  using Segment = std::vector<Part>;

  std::optional<std::pair<Segment*, size_t>> hole(int64_t bytes, bool small) {
    std::optional<std::pair<Segment*, size_t>> best;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (Segment& segment : segments_) {
      for (size_t i = 0; i < segment.size(); ++i) {
        const Part& part = segment[i];
        if (part.used || part.small != small || part.bytes < bytes || part.bytes >= least) continue;
        least = part.bytes;
        best = {&segment, i};
      }
    }
    return best;
  }

  bool reserve(int64_t bytes, bool small) {
    const int64_t mib = 1 << 20;
    const int64_t size = small              ? 2 * mib
                         : bytes < 10 * mib ? 20 * mib
                                            : (bytes + 2 * mib - 1) / (2 * mib) * 2 * mib;
    if (reserved() + size > limit_) return false;
    segments_.push_back({{end_, size, small, false}});
    end_ += size;
    return true;
  }

  int64_t limit_, end_ = 0;
  std::vector<Segment> segments_;  // by address
};

// Every block at the same address and of the same size as in the plain allocator.
void expect_as_plain(const Stream& stream, int64_t limit) {
  CachingAllocator allocator(Settings(), {.device = Bytes(limit)});
  Player player(allocator);
  PlainAllocator plain(limit);
  int num_failures = 0;
  for (const Event& event : stream.events) {
    const std::optional<Block> block = player.play(event);
    if (event.kind == Event::Kind::kAllocate) {
      PlainAllocator::Place actual;
      if (block) actual = {block->address, block->bytes.count()};
      ASSERT_EQ(actual, plain.allocate(event.bytes.count()));
      if (!block) ++num_failures;
    } else if (block) {
      plain.free(block->address);
    }
    ASSERT_EQ(allocator.usage().reserved.count(), plain.reserved());
  }
  EXPECT_EQ(num_failures > 0, limit < int64_t{1} << 40);
}

TEST(RandomStreams, EveryBlockLiesWhereThePlainAllocatorPutsIt) {
  expect_as_plain(random_stream(1, 6000, 120), int64_t{1} << 50);
}

TEST(RandomStreams, AlsoAtALimit) {
  expect_as_plain(random_stream(2, 6000, 120), int64_t{1500} << 20);
}

constexpr std::string_view kSettings[] = {
    "",
    "max_split_size_mb:50",
    "roundup_power2_divisions:8",
    "garbage_collection_threshold:0.6",
    "expandable_segments:True",
    "expandable_segments:True,max_split_size_mb:50",
};

// Blocks fill their segments one after the other, segments do not overlap, no two free blocks are
// neighbours, and the sums are those that the allocator counts.
void expect_sound(const CachingAllocator& allocator, const Limits& limits) {
  int64_t end = 0;
  Bytes reserved, allocated, requested, largest;
  for (const Segment& segment : allocator.snapshot()) {
    ASSERT_GE(segment.address, end);
    end = segment.address;
    bool after_free = false;
    for (const Block& block : segment.blocks) {
      ASSERT_EQ(block.address, end);
      ASSERT_GT(block.bytes, Bytes());
      ASSERT_EQ(block.pool, segment.pool);
      ASSERT_FALSE(after_free && !block.in_use());
      after_free = !block.in_use();
      end = block.end();
      requested += block.requested;
      if (block.in_use()) allocated += block.bytes;
      if (!block.in_use()) largest = std::max(largest, block.bytes);
    }
    ASSERT_EQ(end, segment.address + segment.bytes.count());
    reserved += segment.bytes;
  }
  const FreeSpace free = allocator.free_space();
  ASSERT_EQ(reserved, allocator.usage().reserved);
  ASSERT_EQ(allocated, allocator.usage().allocated);
  ASSERT_EQ(requested, allocator.usage().requested);
  ASSERT_EQ(free.total, reserved - allocated);
  ASSERT_EQ(free.largest, largest);
  ASSERT_LE(free.stuck, free.total);
  ASSERT_LE(requested, allocated);
  ASSERT_LE(reserved, lowest(limits).value_or(reserved) + limits.process.has_value() * kMiB * 18);
}

void expect_sound_throughout(const Stream& stream, const Settings& settings, const Limits& limits) {
  CachingAllocator allocator(settings, limits);
  Player player(allocator);
  int count = 0;
  for (const Event& event : stream.events) {
    player.play(event);
    if (++count % 7 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(expect_sound(allocator, limits));
  }
  player.free_all();
  expect_sound(allocator, limits);
  EXPECT_EQ(allocator.usage().allocated, Bytes());
  EXPECT_EQ(allocator.free_space().stuck, Bytes());
  for (const Segment& segment : allocator.snapshot()) EXPECT_EQ(segment.blocks.size(), 1u);
}

TEST(RandomStreams, TheAllocatorStaysSoundAndFreeingAllLeavesWholeSegments) {
  for (const std::string_view settings : kSettings) {
    SCOPED_TRACE(settings);
    const Stream stream = random_stream(3, 5000, 100);
    expect_sound_throughout(stream, parse(settings), {});
    expect_sound_throughout(stream, parse(settings), {.device = kMiB * 1500});
    expect_sound_throughout(stream, parse(settings), {.process = kMiB * 1500});
  }
}

TEST(RandomStreams, ExpandableSegmentsReserveLessThanOrdinaryOnes) {
  for (uint64_t seed = 10; seed < 20; ++seed) {
    const SegmentComparison both =
        compare_expandable(random_stream(seed, 5000, 150), Settings(), {});
    EXPECT_LT(both.expandable.reserved.bytes, both.as_set.reserved.bytes) << seed;
    EXPECT_LE(both.expandable.allocated.bytes, both.as_set.allocated.bytes) << seed;
    EXPECT_EQ(both.expandable.requested.bytes, both.as_set.requested.bytes) << seed;
  }
}

TEST(RandomStreams, WithoutFreesExpandableSegmentsReserveAPageAPoolAtMostTooMuch) {
  Random random(5);
  CachingAllocator allocator(parse("expandable_segments:True"));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(allocator.allocate(Bytes(random_size(random))));
    EXPECT_LT(allocator.usage().reserved - allocator.usage().allocated, kMiB * 22);
  }
}

struct Counted {
  std::string_view settings;
  int64_t device_mib;  // 0: without a limit
  int num_failures;
  int64_t num_retries, peak_allocated, peak_reserved;
  uint64_t all_events;  // the counters after every event, folded
};

// Counted by the allocator of PyTorch 2.14.1 itself, linked with a CUDA driver that does nothing
// but give addresses and add up bytes. Row i is the stream of seed 101 + i.
constexpr Counted kCounted[] = {
    {"", 0, 0, 0, 3720577024, 4123000832, 13137055572728614912u},
    {"", 1500, 158, 175, 1520316416, 1572864000, 17776886394841645568u},
    {"max_split_size_mb:50", 1500, 128, 166, 1535834112, 1572864000, 1907616631071001600u},
    {"max_split_size_mb:32,max_non_split_rounding_mb:64", 1500, 154, 184, 1545200128, 1572864000,
     2170491316608654336u},
    {"roundup_power2_divisions:[1:2,16:4,>:8]", 1700, 109, 122, 1730934272, 1782579200,
     4276378193623589888u},
    {"garbage_collection_threshold:0.6,per_process_memory_fraction:0.75", 2400, 73, 73, 1810681344,
     1879048192, 1976134940642877952u},
    {"large_segment_size_mb:12,max_split_size_mb:50,garbage_collection_threshold:0.8,"
     "per_process_memory_fraction:0.9",
     1700, 136, 137, 1568990720, 1604321280, 6576841500513839104u},
    {"expandable_segments:True", 0, 0, 0, 3295054336, 3594518528, 3755757464154398208u},
    {"expandable_segments:True", 1300, 179, 218, 1326152192, 1363148800, 794827437129987584u},
    {"expandable_segments:True,max_split_size_mb:50,per_process_memory_fraction:0.9", 1500, 153,
     247, 1358666240, 1421869056, 6171271207167739392u},
};

TEST(RandomStreams, CountersAreThoseOfPyTorchsOwnAllocatorAfterEveryEvent) {
  uint64_t seed = 101;
  for (const Counted& expected : kCounted) {
    SCOPED_TRACE(expected.settings);
    const Settings settings = parse(expected.settings);
    CachingAllocator allocator(settings, expected.device_mib == 0
                                             ? Limits()
                                             : limits_of(kMiB * expected.device_mib, settings));
    Player player(allocator);
    int num_failures = 0;
    Bytes allocated, reserved;
    uint64_t all_events = 0;
    for (const Event& event : random_stream(seed++, 8000, 120).events) {
      const bool served = player.play(event).has_value();
      if (!served && event.kind == Event::Kind::kFree) continue;  // of a request that failed
      if (!served) ++num_failures;
      const Usage& usage = allocator.usage();
      allocated = std::max(allocated, usage.allocated);
      reserved = std::max(reserved, usage.reserved);
      all_events = all_events * 31 +
                   static_cast<uint64_t>(usage.allocated.count() + 7 * usage.reserved.count());
    }
    EXPECT_EQ(num_failures, expected.num_failures);
    EXPECT_EQ(allocator.usage().num_retries, expected.num_retries);
    EXPECT_EQ(allocated, Bytes(expected.peak_allocated));
    EXPECT_EQ(reserved, Bytes(expected.peak_reserved));
    EXPECT_EQ(all_events, expected.all_events);
  }
}

}  // namespace
}  // namespace refrain::allocator
