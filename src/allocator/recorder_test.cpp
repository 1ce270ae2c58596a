#include "allocator/recorder.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace refrain::allocator {
namespace {

TEST(Recorder, APathAlwaysGetsTheSamePosting) {
  Recorder recorder;
  const PostingId first = recorder.posting("saved/attn.qkv");
  const PostingId second = recorder.posting("state/weights");
  EXPECT_NE(first, second);
  EXPECT_EQ(recorder.posting("saved/attn.qkv"), first);
  const Stream stream = recorder.take();
  ASSERT_EQ(stream.postings.size(), 2u);
  EXPECT_EQ(stream.postings[first], "saved/attn.qkv");
  EXPECT_EQ(stream.postings[second], "state/weights");
}

TEST(Recorder, EventsComeInTheirOrderWithTheirBlocks) {
  Recorder recorder;
  const PostingId posting = recorder.posting("saved");
  const BlockId a = recorder.allocate(100, posting);
  const BlockId b = recorder.allocate(200, posting);
  recorder.free(a);
  const Stream stream = recorder.take();
  EXPECT_EQ(stream.num_blocks, 2);
  ASSERT_EQ(stream.events.size(), 3u);
  EXPECT_EQ(stream.events[1].kind, Event::Kind::kAllocate);
  EXPECT_EQ(stream.events[1].block, b);
  EXPECT_EQ(stream.events[1].bytes, Bytes(200));
  EXPECT_EQ(stream.events[1].posting, posting);
  EXPECT_EQ(stream.events[2].kind, Event::Kind::kFree);
  EXPECT_EQ(stream.events[2].block, a);
}

TEST(Recorder, NoBytesTakeNoBlockAndOneByteDoes) {
  Recorder recorder;
  const PostingId posting = recorder.posting("saved");
  EXPECT_EQ(recorder.allocate(0, posting), kNoBlock);
  EXPECT_EQ(recorder.allocate(-1, posting), kNoBlock);
  recorder.free(kNoBlock);
  EXPECT_NE(recorder.allocate(1, posting), kNoBlock);
  EXPECT_EQ(recorder.take().events.size(), 1u);
}

TEST(Recorder, KnowsWhatIsLive) {
  Recorder recorder;
  const PostingId posting = recorder.posting("saved");
  const BlockId a = recorder.allocate(100, posting);
  const BlockId b = recorder.allocate(23, posting);
  EXPECT_EQ(recorder.live_bytes(), Bytes(123));
  recorder.free(a);
  EXPECT_FALSE(recorder.live(a));
  EXPECT_TRUE(recorder.live(b));
  EXPECT_FALSE(recorder.live(kNoBlock));
  EXPECT_FALSE(recorder.live(b + 1));
  EXPECT_EQ(recorder.live_bytes(), Bytes(23));
}

TEST(Recorder, AMarkNamesTheNextEventAndTheLastOfSeveralCounts) {
  Recorder recorder;
  const PostingId posting = recorder.posting("saved");
  recorder.mark("construction");
  recorder.allocate(1, posting);
  recorder.mark("nothing happens here");
  recorder.mark("forward");
  recorder.allocate(1, posting);
  const Stream stream = recorder.take();
  ASSERT_EQ(stream.marks.size(), 2u);
  EXPECT_EQ(stream.marks[0].event, 0u);
  EXPECT_EQ(stream.marks[0].phase, "construction");
  EXPECT_EQ(stream.marks[1].event, 1u);
  EXPECT_EQ(stream.marks[1].phase, "forward");
}

TEST(Recorder, IsEmptyAfterTake) {
  Recorder recorder;
  const BlockId block = recorder.allocate(7, recorder.posting("saved"));
  recorder.take();
  EXPECT_FALSE(recorder.live(block));
  EXPECT_EQ(recorder.live_bytes(), Bytes());
  const Stream empty = recorder.take();
  EXPECT_TRUE(empty.events.empty() && empty.marks.empty() && empty.postings.empty());
  EXPECT_EQ(empty.num_blocks, 0);
}

TEST(Recorder, MisuseIsABug) {
  Recorder recorder;
  EXPECT_THROW(recorder.allocate(1, 0), Bug);
  const PostingId posting = recorder.posting("saved");
  EXPECT_THROW(recorder.allocate(1, posting + 1), Bug);
  EXPECT_THROW(recorder.allocate(1, -1), Bug);
  const BlockId block = recorder.allocate(1, posting);
  EXPECT_THROW(recorder.free(block + 1), Bug);
  recorder.free(block);
  EXPECT_THROW(recorder.free(block), Bug);
}

}  // namespace
}  // namespace refrain::allocator
