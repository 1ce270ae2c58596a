#include "allocator/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "allocator/settings_testing.h"

namespace refrain::allocator {
namespace {

std::vector<std::string> rules(std::string_view text) {
  std::vector<std::string> ids;
  for (const Finding& finding : parse_settings(text).findings) ids.push_back(finding.rule);
  return ids;
}

using Ids = std::vector<std::string>;

TEST(Settings, NothingSaidMeansPyTorchsDefaults) {
  const Settings settings = parse("");
  EXPECT_FALSE(settings.expandable_segments);
  EXPECT_EQ(settings.large_segment, kMiB * 20);
  EXPECT_FALSE(settings.max_split);
  EXPECT_EQ(settings.max_non_split_rounding, kMiB * 20);
  EXPECT_EQ(settings.garbage_collection_threshold, 0);
  EXPECT_EQ(settings.process_fraction, 1);
}

TEST(Settings, ReadsEveryOptionThatDecidesAboutBytes) {
  const Settings settings = parse(
      "expandable_segments:True, max_split_size_mb:512, max_non_split_rounding_mb:64,"
      "garbage_collection_threshold:0.8,per_process_memory_fraction:0.5,");
  EXPECT_TRUE(settings.expandable_segments);
  EXPECT_EQ(settings.max_split, kMiB * 512);
  EXPECT_EQ(settings.max_non_split_rounding, kMiB * 64);
  EXPECT_EQ(settings.garbage_collection_threshold, 0.8);
  EXPECT_EQ(settings.process_fraction, 0.5);
}

TEST(Settings, TheLastOfANameCounts) {
  EXPECT_FALSE(parse("expandable_segments:True,expandable_segments:False").expandable_segments);
}

TEST(Settings, TheLargeSegmentIsReadFirstWhereverItStands) {
  const Settings settings = parse("max_split_size_mb:16,large_segment_size_mb:12");
  EXPECT_EQ(settings.max_split, kMiB * 16);
  EXPECT_EQ(settings.max_non_split_rounding, kMiB * 12);
  EXPECT_EQ(rules("max_split_size_mb:16"), Ids{"allocator.bad-value"});
}

struct Sides {
  const char *obeys, *breaks;
};

TEST(Settings, ValuesAreHeldAgainstPyTorchsRanges) {
  constexpr Sides kSides[] = {
      {"max_split_size_mb:20", "max_split_size_mb:19"},
      {"max_non_split_rounding_mb:20", "max_non_split_rounding_mb:19"},
      {"large_segment_size_mb:11", "large_segment_size_mb:10"},
      {"per_process_memory_fraction:0", "per_process_memory_fraction:-0.1"},
      {"per_process_memory_fraction:1.0", "per_process_memory_fraction:1.01"},
      {"expandable_segments:False", "expandable_segments:false"},
      {"roundup_power2_divisions:4", "roundup_power2_divisions:3"},
      {"roundup_power2_divisions:1", "roundup_power2_divisions:0"},
      {"roundup_power2_divisions:[256:0,>:2]", "roundup_power2_divisions:[256:6,>:2]"},
      {"roundup_power2_divisions:[]", "roundup_power2_divisions:[300:2]"},
      {"roundup_power2_divisions:[256:1,]", "roundup_power2_divisions:[256:1"},
      {"backend:native", "backend:pool"},
      {"pinned_num_register_threads:128", "pinned_num_register_threads:256"},
      {"pinned_num_register_threads:1", "pinned_num_register_threads:0"},
      {"pinned_reserve_segment_size_mb:1", "pinned_reserve_segment_size_mb:0"},
      {"release_lock_on_cudamalloc:True", "release_lock_on_cudamalloc:1"},
      {"pinned_max_cached_size_mb:0", "pinned_max_cached_size_mb:all"},
      {"max_split_size_mb:128MB", "max_split_size_mb:MB128"},  // as std::stoull reads
      {"max_split_size_mb:64", "max_split_size_mb:-64"},
      {"max_split_size_mb:99999999999999999", "max_split_size_mb:99999999999999999999"},
  };
  for (const auto& [obeys, breaks] : kSides) {
    EXPECT_EQ(rules(obeys), Ids{}) << obeys;
    EXPECT_EQ(rules(breaks), Ids{"allocator.bad-value"}) << breaks;
  }
}

TEST(Settings, TheThresholdOfGarbageCollectionLiesInsideZeroAndOne) {
  const std::string with_limit = "per_process_memory_fraction:0.9,garbage_collection_threshold:";
  EXPECT_EQ(rules(with_limit + "0.01"), Ids{});
  EXPECT_EQ(rules(with_limit + "0.99"), Ids{});
  EXPECT_EQ(rules(with_limit + "0"), Ids{"allocator.bad-value"});
  EXPECT_EQ(rules(with_limit + "1"), Ids{"allocator.bad-value"});
  EXPECT_EQ(rules(with_limit + "nan"), Ids{"allocator.bad-value"});
}

TEST(Settings, ForAnUnknownOptionTheNearestIsNamed) {
  const Findings findings = parse_settings("max_split_size:128").findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "allocator.unknown-option");
  EXPECT_NE(findings[0].remedy.find("max_split_size_mb"), std::string::npos);
}

TEST(Settings, WhatIsQuotedFitsATerminal) {
  for (const std::string& text : {std::string("\x1b[31m\xff:1"), std::string("backend:\0\x07", 10),
                                  std::string("\x1b"), "backend:" + std::string(5000, 'x')}) {
    const Findings findings = parse_settings(text).findings;
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_LT(findings[0].message.size(), 600u);
    EXPECT_TRUE(std::ranges::all_of(findings[0].message, [](char c) { return c >= ' '; }));
  }
}

TEST(Settings, AllFindingsComeAtOnce) {
  EXPECT_EQ(rules("expandable_segments,max_split_size_mb:1,what:2,:3,backend:"),
            (Ids{"allocator.syntax", "allocator.syntax", "allocator.syntax", "allocator.bad-value",
                 "allocator.unknown-option"}));
  EXPECT_EQ(rules(",backend:native"), Ids{"allocator.syntax"});
  EXPECT_EQ(rules("backend:native expandable_segments:True"), Ids{"allocator.syntax"});
}

TEST(Settings, NotesSayWhatIsAcceptedAndDoesNothing) {
  const Checked<Settings> idle = parse_settings("garbage_collection_threshold:0.5");
  ASSERT_TRUE(idle.value);
  ASSERT_EQ(idle.findings.size(), 1u);
  EXPECT_EQ(idle.findings[0].rule, "allocator.no-limit-to-collect-for");
  EXPECT_EQ(idle.findings[0].severity, Severity::kNote);
  EXPECT_EQ(rules("backend:cudaMallocAsync"), Ids{"allocator.other-backend"});
}

TEST(Sizes, BlocksAreMultiplesOf512) {
  const Settings settings;
  EXPECT_EQ(block_bytes(Bytes(1), settings), Bytes(512));
  EXPECT_EQ(block_bytes(Bytes(512), settings), Bytes(512));
  EXPECT_EQ(block_bytes(Bytes(513), settings), Bytes(1024));
  EXPECT_EQ(block_bytes(Bytes(64'109'568), settings), Bytes(64'109'568));
}

TEST(Sizes, WhatIsRefusedStaysAsItIs) {
  for (const char* text : {"", "roundup_power2_divisions:4"}) {
    const Settings settings = parse(text);
    EXPECT_EQ(block_bytes(kRefused - Bytes(1), settings), kRefused);
    for (const Bytes refused : {kRefused + Bytes(1), Bytes(std::numeric_limits<int64_t>::max())}) {
      EXPECT_EQ(block_bytes(refused, settings), refused);
      EXPECT_EQ(segment_bytes(refused, settings), refused);
    }
  }
}

TEST(Sizes, SegmentsFollowTheBlock) {
  const Settings settings;
  const Bytes step(512);
  EXPECT_EQ(segment_bytes(step, settings), kMiB * 2);
  EXPECT_EQ(segment_bytes(kMiB, settings), kMiB * 2);
  EXPECT_EQ(segment_bytes(kMiB + step, settings), kMiB * 20);
  EXPECT_EQ(segment_bytes(kMiB * 10 - step, settings), kMiB * 20);
  EXPECT_EQ(segment_bytes(kMiB * 10, settings), kMiB * 10);
  EXPECT_EQ(segment_bytes(kMiB * 10 + step, settings), kMiB * 12);
  EXPECT_EQ(segment_bytes(Bytes(64'109'568), settings), Bytes(65'011'712));
  EXPECT_EQ(segment_bytes(kMiB * 3, parse("large_segment_size_mb:36")), kMiB * 36);
}

TEST(Sizes, DivisionsRoundUpToStepsBetweenPowersOfTwo) {
  const Settings settings = parse("roundup_power2_divisions:4");
  constexpr Bytes kKiB(1024);
  EXPECT_EQ(block_bytes(kKiB * 1024, settings), kKiB * 1024);
  EXPECT_EQ(block_bytes(kKiB * 1024 + Bytes(1), settings), kKiB * 1280);
  EXPECT_EQ(block_bytes(kKiB * 1200, settings), kKiB * 1280);
  EXPECT_EQ(block_bytes(kKiB * 1280, settings), kKiB * 1280);
  EXPECT_EQ(block_bytes(kKiB * 1793, settings), kKiB * 2048);
  // Up to 512 B times the divisions there are no four steps to take.
  EXPECT_EQ(block_bytes(kKiB * 2, settings), kKiB * 2);
  EXPECT_EQ(block_bytes(Bytes(1025), settings), Bytes(1536));
  EXPECT_EQ(block_bytes(kKiB * 2 + Bytes(1), settings), Bytes(2560));
}

// 512 B times 2^55 is 0 in PyTorch's 64 bits, and so is a power of two in as many steps.
TEST(Sizes, WithMoreDivisionsThanBytesBlocksArePowersOfTwo) {
  const Bytes size = kBlockStep * 2 + Bytes(1);
  EXPECT_EQ(block_bytes(size, parse("roundup_power2_divisions:18014398509481984")), kBlockStep * 3);
  for (const char* text : {"roundup_power2_divisions:36028797018963968",
                           "roundup_power2_divisions:9223372036854775808"}) {
    const Settings settings = parse(text);
    EXPECT_EQ(block_bytes(size, settings), kBlockStep * 4);
    EXPECT_EQ(block_bytes(kBlockStep * 2, settings), kBlockStep * 2);
    EXPECT_EQ(block_bytes(kRefused - Bytes(1), settings), kRefused);
  }
}

// The list of PyTorch's own test of it, c10/test/core/AllocatorConfig_test.cpp.
TEST(Sizes, AListGivesEveryPowerOfTwoItsDivisions) {
  const Settings settings = parse("roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1]");
  const auto divisions = [&](int64_t mib) {
    int index = 0;
    while (mib >> (index + 1) != 0) ++index;
    return settings.roundup_divisions[index];
  };
  EXPECT_EQ(divisions(1), 8);
  EXPECT_EQ(divisions(32), 8);
  EXPECT_EQ(divisions(64), 8);
  EXPECT_EQ(divisions(128), 2);
  EXPECT_EQ(divisions(256), 4);
  EXPECT_EQ(divisions(512), 2);
  EXPECT_EQ(divisions(1024), 4);
  EXPECT_EQ(divisions(2048), 1);
  EXPECT_EQ(divisions(32768), 1);
  EXPECT_EQ(block_bytes(kMiB * 65, settings), kMiB * 72);
  EXPECT_EQ(block_bytes(kMiB * 129, settings), kMiB * 192);
  EXPECT_EQ(block_bytes(kMiB * 2048 + Bytes(1), settings), kMiB * 2048 + Bytes(512));
  EXPECT_EQ(block_bytes(Bytes(4097), settings), Bytes(4608));
}

TEST(Sizes, WhatAListLeavesOutIsRoundedTo512) {
  const Settings settings = parse("roundup_power2_divisions:[256:2,1024:2]");
  EXPECT_EQ(block_bytes(kMiB * 257, settings), kMiB * 384);
  EXPECT_EQ(block_bytes(kMiB * 513, settings), kMiB * 513);
  EXPECT_EQ(block_bytes(kMiB * 1025, settings), kMiB * 1536);
  EXPECT_EQ(block_bytes(kMiB * 2049, settings), kMiB * 2049);
}

// The last interval holds for everything from 32 GiB on.
TEST(Sizes, DivisionsEndWithTheLastInterval) {
  const Settings settings = parse("roundup_power2_divisions:[65536:2]");
  constexpr Bytes kGiB = kMiB * 1024;
  EXPECT_EQ(block_bytes(kGiB * 65, settings), kGiB * 96);
  EXPECT_EQ(block_bytes(kGiB * 129, settings), kGiB * 192);
}

}  // namespace
}  // namespace refrain::allocator
