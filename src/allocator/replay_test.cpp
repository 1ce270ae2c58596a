#include "allocator/replay.h"

#include <gtest/gtest.h>

#include "allocator/recorder.h"
#include "base/error.h"

namespace refrain::allocator {
namespace {

constexpr int64_t kMebi = kMiB.count();

// Weights stay; two activations of which the first dies before the gradient comes; a temporary.
Stream step() {
  Recorder recorder;
  const PostingId weights = recorder.posting("state/weights");
  const PostingId saved = recorder.posting("saved/attn/qkv"), mask = recorder.posting("saved/mask");
  const PostingId scratch = recorder.posting("scratch");
  recorder.mark("construction");
  recorder.allocate(30 * kMebi, weights);
  recorder.mark("forward");
  const BlockId first = recorder.allocate(41 * kMebi, saved);
  const BlockId second = recorder.allocate(100, mask);
  const BlockId temporary = recorder.allocate(50 * kMebi, scratch);
  recorder.mark("backward");
  recorder.free(temporary);
  recorder.free(first);
  const BlockId gradient = recorder.allocate(60 * kMebi, scratch);
  recorder.free(second);
  recorder.free(gradient);
  return recorder.take();
}

TEST(Replay, FindsThePeaksAndTheirPhases) {
  const Result result = replay(step(), Settings());
  EXPECT_EQ(result.requested.bytes, kMiB * 121 + Bytes(100));
  EXPECT_EQ(result.requested.event, 3u);
  EXPECT_EQ(result.allocated.bytes, kMiB * 122 + Bytes(512));  // 41 MiB take their 42
  EXPECT_EQ(result.allocated.event, 3u);
  EXPECT_EQ(result.allocated.phase, "forward");
  EXPECT_EQ(result.reserved.bytes, kMiB * (30 + 42 + 2 + 50 + 60));
  EXPECT_EQ(result.reserved.event, 6u);
  EXPECT_EQ(result.reserved.phase, "backward");
  EXPECT_FALSE(result.failure);
}

TEST(Replay, DescribesTheEnd) {
  const State end = replay(step(), Settings()).end;
  EXPECT_EQ(end.usage.allocated, kMiB * 30);
  EXPECT_EQ(end.usage.reserved, kMiB * 184);
  EXPECT_EQ(end.free.total, kMiB * 154);
  EXPECT_EQ(end.free.largest, kMiB * 60);
  EXPECT_EQ(end.free.stuck, Bytes());
  EXPECT_EQ(end.fragmentation(), 0);
}

TEST(Replay, PostsWhatIsLiveAtThePeakByAccountTheLargestFirst) {
  const std::vector<PostingNode> live = replay(step(), Settings()).at_peak;
  ASSERT_EQ(live.size(), 3u);
  EXPECT_EQ(live[0].name, "scratch");
  EXPECT_EQ(live[0].blocks, kMiB * 50);
  EXPECT_EQ(live[1].name, "saved");
  EXPECT_EQ(live[1].blocks, kMiB * 42 + Bytes(512));
  EXPECT_EQ(live[1].requested, kMiB * 41 + Bytes(100));
  EXPECT_EQ(live[1].num_blocks, 2);
  EXPECT_EQ(live[2].name, "state");
  ASSERT_EQ(live[1].parts.size(), 2u);
  EXPECT_EQ(live[1].parts[0].name, "attn");
  ASSERT_EQ(live[1].parts[0].parts.size(), 1u);
  EXPECT_EQ(live[1].parts[0].parts[0].name, "qkv");
  EXPECT_EQ(live[1].parts[0].parts[0].blocks, kMiB * 42);
  EXPECT_EQ(live[1].parts[1].name, "mask");
}

TEST(Replay, WhatIsLiveCanBeAskedForAtEveryEvent) {
  const Stream stream = step();
  const Result result = replay(stream, Settings());
  const std::vector<PostingNode> live = live_postings(stream, result.block_bytes, 5);
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0].name, "state");
  EXPECT_EQ(live[1].name, "saved");
  EXPECT_EQ(live[1].blocks, Bytes(512));
  EXPECT_THROW(live_postings(stream, result.block_bytes, stream.events.size()), Bug);
}

TEST(Replay, SaysWhichRequestFailsAndWhy) {
  const Result result = replay(step(), Settings(), {.device = kMiB * 100});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->event, 3u);
  EXPECT_EQ(result.failure->phase, "forward");
  EXPECT_EQ(result.failure->posting, "scratch");
  EXPECT_EQ(result.failure->requested, kMiB * 50);
  EXPECT_EQ(result.failure->segment, kMiB * 50);
  EXPECT_EQ(result.failure->state.usage.allocated, kMiB * 72 + Bytes(512));
  EXPECT_EQ(result.failure->state.usage.reserved, kMiB * 74);
  EXPECT_EQ(result.failure->state.free.largest, kMiB * 2 - Bytes(512));
  EXPECT_FALSE(result.failure->scattered);
  EXPECT_EQ(result.end.usage.allocated, kMiB * 72 + Bytes(512));
  EXPECT_EQ(result.allocated.event, 2u);
  EXPECT_EQ(result.block_bytes[3], Bytes());
}

// Segments of 20 MiB with 9 MiB free on both sides of 2 in use, again and again: half of the
// memory is free, and 18 MiB are too many.
Stream scattered() {
  Recorder recorder;
  const PostingId posting = recorder.posting("saved");
  std::vector<BlockId> fillers;
  for (int segment = 0; segment < 5; ++segment) {
    fillers.push_back(recorder.allocate(9 * kMebi, posting));
    recorder.allocate(2 * kMebi, posting);
    fillers.push_back(recorder.allocate(9 * kMebi, posting));
  }
  for (const BlockId filler : fillers) recorder.free(filler);
  recorder.allocate(18 * kMebi, posting);
  return recorder.take();
}

TEST(Replay, TellsScatteredMemoryFromTooLittle) {
  const Result failed = replay(scattered(), Settings(), {.device = kMiB * 100});
  ASSERT_TRUE(failed.failure);
  EXPECT_TRUE(failed.failure->scattered);
  EXPECT_EQ(failed.end.free.total, kMiB * 90);
  EXPECT_EQ(failed.end.fragmentation(), 0.9);
  EXPECT_FALSE(replay(scattered(), Settings(), {.device = kMiB * 118}).failure);
}

TEST(Replay, ARefusedRequestFailsAsItIs) {
  Recorder recorder;
  const PostingId posting = recorder.posting("scratch");
  recorder.allocate(kMebi, posting);
  recorder.allocate(int64_t{1} << 62, posting);
  const Stream stream = recorder.take();
  for (const Limits& limits : {Limits(), Limits{.device = kMiB * 100}}) {
    const Result result = replay(stream, Settings(), limits);
    ASSERT_TRUE(result.failure);
    EXPECT_EQ(result.failure->event, 1u);
    EXPECT_EQ(result.failure->block, result.failure->requested);
    EXPECT_EQ(result.failure->segment, result.failure->requested);
    EXPECT_FALSE(result.failure->scattered);
    EXPECT_EQ(result.end.usage.allocated, kMiB);
  }
}

TEST(Replay, ExpandableSegmentsAreComparedOnTheSameRun) {
  const SegmentComparison scattered_run =
      compare_expandable(scattered(), Settings(), {.device = kMiB * 100});
  EXPECT_TRUE(scattered_run.as_set.failure);
  EXPECT_FALSE(scattered_run.expandable.failure);
  EXPECT_TRUE(scattered_run.expandable_fits());
  EXPECT_FALSE(compare_expandable(step(), Settings(), {.device = kMiB * 100}).expandable_fits());
  EXPECT_FALSE(compare_expandable(step(), Settings(), {.device = kMiB * 200}).expandable_fits());
}

TEST(Replay, AnEmptyStreamHasNoPeak) {
  const Result result = replay(Stream(), Settings());
  EXPECT_EQ(result.allocated.bytes, Bytes());
  EXPECT_TRUE(result.at_peak.empty());
  EXPECT_EQ(result.end.fragmentation(), 0);
}

TEST(Replay, PhasesBeginWithTheirMark) {
  const Stream stream = step();
  EXPECT_EQ(phase_of(stream, 0), "construction");
  EXPECT_EQ(phase_of(stream, 3), "forward");
  EXPECT_EQ(phase_of(stream, 4), "backward");
  EXPECT_EQ(phase_of(Stream(), 0), "");
}

TEST(Replay, AnIllFormedStreamIsABug) {
  const Event take{Event::Kind::kAllocate, 0, Bytes(1), 0},
      give{Event::Kind::kFree, 0, Bytes(), -1};
  const auto run = [](std::vector<Event> events) {
    return replay({.events = std::move(events), .postings = {"saved"}, .num_blocks = 1},
                  Settings());
  };
  EXPECT_NO_THROW(run({take, give}));
  EXPECT_THROW(run({give}), Bug);
  EXPECT_THROW(run({take, give, give}), Bug);
  EXPECT_THROW(run({take, take}), Bug);
  EXPECT_THROW(run({take, {Event::Kind::kAllocate, 1, Bytes(1), 0}}), Bug);
}

}  // namespace
}  // namespace refrain::allocator
