#include "allocator/recorder.h"

#include <limits>
#include <utility>

#include "base/error.h"

namespace refrain::allocator {

PostingId Recorder::posting(std::string_view path) {
  if (const auto known = postings_.find(path); known != postings_.end()) return known->second;
  const auto id = static_cast<PostingId>(stream_.postings.size());
  stream_.postings.emplace_back(path);
  postings_.emplace(path, id);
  return id;
}

BlockId Recorder::allocate(int64_t bytes, PostingId posting) {
  const auto num_postings = static_cast<PostingId>(stream_.postings.size());
  RC_CHECK(posting >= 0 && posting < num_postings, "posting {} of {}", posting, num_postings);
  if (bytes <= 0) return kNoBlock;
  RC_CHECK(stream_.num_blocks < std::numeric_limits<BlockId>::max(), "too many blocks");
  const BlockId block = stream_.num_blocks++;
  stream_.events.push_back({Event::Kind::kAllocate, block, Bytes(bytes), posting});
  held_.push_back(Bytes(bytes));
  live_bytes_ += Bytes(bytes);
  return block;
}

void Recorder::free(BlockId block) {
  if (block == kNoBlock) return;
  RC_CHECK(block >= 0 && block < stream_.num_blocks, "block {} of {}", block, stream_.num_blocks);
  RC_CHECK(live(block), "block {} is free already", block);
  stream_.events.push_back({Event::Kind::kFree, block, Bytes(), -1});
  live_bytes_ -= std::exchange(held_[block], Bytes());
}

void Recorder::mark(std::string phase) {
  const size_t next = stream_.events.size();
  if (!stream_.marks.empty() && stream_.marks.back().event == next) stream_.marks.pop_back();
  stream_.marks.push_back({next, std::move(phase)});
}

bool Recorder::live(BlockId block) const {
  return block >= 0 && block < stream_.num_blocks && held_[block] > Bytes();
}

Stream Recorder::take() {
  Stream taken = std::move(stream_);
  *this = Recorder();
  return taken;
}

}  // namespace refrain::allocator
