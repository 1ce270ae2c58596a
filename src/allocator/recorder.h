// Records a Stream while a builder walks through a run, and keeps it well-formed: every block is
// allocated before it is freed and freed at most once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/stream.h"
#include "base/quantity.h"

namespace refrain::allocator {

/// Misuse (a block freed twice, a posting or block that was never made) is an RC_CHECK: streams are
/// made by our own builders, not read from input.
class Recorder {
 public:
  /// The id of `path` ("saved/attn.qkv"); the same path always gets the same id.
  PostingId posting(std::string_view path);

  /// Records a request of `bytes`. Nothing is recorded, and kNoBlock returned, for bytes <= 0: a
  /// tensor without elements takes no block (CUDACachingAllocator.cpp, `allocate`).
  BlockId allocate(int64_t bytes, PostingId posting);

  /// Records that `block` is given back. kNoBlock: nothing happens.
  void free(BlockId block);

  /// A new phase begins with the next event. A mark that no event followed is replaced.
  void mark(std::string phase);

  /// True from the block's allocation until it is freed; false for kNoBlock.
  bool live(BlockId block) const;

  /// Sum of the requested bytes of all live blocks.
  Bytes live_bytes() const { return live_bytes_; }

  /// Hands over what was recorded and leaves an empty recorder: blocks and postings of before mean
  /// nothing to it.
  Stream take();

 private:
  Stream stream_;
  std::map<std::string, PostingId, std::less<>> postings_;
  std::vector<Bytes> held_;  // by BlockId: requested bytes, 0 once freed
  Bytes live_bytes_;
};

}  // namespace refrain::allocator
