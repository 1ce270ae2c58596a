// Allocations and frees of a run in their order, each posted to a named account: what an allocator
// model replays and a ledger adds up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace refrain::allocator {

/// Names an allocation: 0, 1, 2, ... in the order they are made.
using BlockId = int32_t;

/// What a request for no bytes gets: a tensor without elements takes no block.
inline constexpr BlockId kNoBlock = -1;

/// What an allocation is for: "saved/attn.qkv", "state/main gradients"; the part before the first
/// slash is the account, the rest a path below it.
using PostingId = int32_t;

struct Event {
  enum class Kind : uint8_t { kAllocate, kFree } kind;
  BlockId block;
  Bytes bytes;        // kAllocate: requested, before rounding; never 0
  PostingId posting;  // kAllocate
};

/// Where a part of the run begins: "construction", "step 1: forward, chunk 0", "loss head,
/// forward".
struct Mark {
  size_t event;  // index of the first event of the phase
  std::string phase;
};

/// Every block is allocated before it is freed and freed at most once.
struct Stream {
  std::vector<Event> events;
  std::vector<Mark> marks;
  std::vector<std::string> postings;  // by PostingId, each once
  int32_t num_blocks = 0;
};

}  // namespace refrain::allocator
