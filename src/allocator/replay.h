// Replays a Stream through the caching allocator: peaks and what is live there, and the request
// that fails, if one does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/settings.h"
#include "allocator/stream.h"
#include "base/quantity.h"

namespace refrain::allocator {

/// The most of a counter, and the first event that reaches it.
struct Peak {
  Bytes bytes;
  size_t event = 0;
  std::string phase;  // of that event; empty before the first mark
};

/// Counters and free space at one moment.
struct State {
  Usage usage;
  FreeSpace free;

  /// Share of the reserved bytes that lie idle and cannot be given back: what PyTorch's
  /// out-of-memory message calls fragmentation. 0 where nothing is reserved.
  double fragmentation() const;
};

/// The request that was not served; the rest of the stream was not replayed. What was live then:
/// live_postings() of `event`.
struct Failure {
  size_t event = 0;
  std::string phase, posting;
  Bytes requested;
  Bytes block;    // the least that would have served it
  Bytes segment;  // what the driver was asked for: "Tried to allocate" in PyTorch's message
  State state;    // after everything that can be given back was given back
  bool scattered = false;  // the limit has room for the block, only not in one piece
};

/// A place in the tree that the slashes of the postings make: an account, or a part of it, with
/// all that is posted to it and below.
struct PostingNode {
  std::string name;
  Bytes blocks, requested;
  int64_t num_blocks = 0;
  std::vector<PostingNode> parts;  // largest first
};

struct Result {
  Peak allocated, reserved, requested;
  State end;  // after the last event, or where it failed
  std::optional<Failure> failure;
  std::vector<PostingNode> at_peak;  // live when `allocated` was reached, that request included
  std::vector<Bytes> block_bytes;    // by BlockId: what it took; 0 where it was not reached
};

/// Replays the stream, which must be well-formed (RC_CHECK). Each event costs a few look-ups in
/// ordered sets: O(log n) of n free blocks.
Result replay(const Stream& stream, const Settings& settings, const Limits& limits = {});

/// What is live after event `event` of a replayed stream, by account, the largest first.
std::vector<PostingNode> live_postings(const Stream& stream, const std::vector<Bytes>& block_bytes,
                                       size_t event);

/// The phase of event `event`: the last mark at or before it. Empty where there is none.
std::string_view phase_of(const Stream& stream, size_t event);

/// The same run with segments as set and with expandable ones.
struct SegmentComparison {
  Result as_set, expandable;

  /// expandable_segments:True is the remedy: the run fails as set, and fits so.
  bool expandable_fits() const { return as_set.failure && !expandable.failure; }
};
SegmentComparison compare_expandable(const Stream& stream, const Settings& settings,
                                     const Limits& limits);

}  // namespace refrain::allocator
