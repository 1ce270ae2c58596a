// PyTorch's CUDA caching allocator as a model: which block every request gets, what is reserved of
// the device, and where a request fails. No device is touched; addresses are numbers.
//
// Segments come from the driver and are cut into blocks. A freed block stays, merged with its free
// neighbours, in the pool of its segment, and serves a later request of that pool if it is the
// smallest that is large enough; the rest is cut off where it is large enough to be of use. So
// what is handed out is not what was requested, and what is reserved depends on the order of
// requests and frees: neither is a sum, both need the replay.
//
// Source of every rule: c10/cuda/CUDACachingAllocator.cpp of PyTorch 2.14, by the names given here.
// The model is of one process and one stream of the device. Out of it are blocks that wait for a
// second stream (`recordStream`), the private pools of CUDA graphs and of torch.cuda.MemPool, and
// what does not come from this allocator (the CUDA context, NCCL, other processes): that is not in
// PyTorch's own counts either, and narrows Limits::device.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/blocks.h"
#include "allocator/settings.h"
#include "base/quantity.h"

namespace refrain::allocator {

/// What the process may take; nothing: as much as it asks for.
struct Limits {
  /// What the driver has to give; it fails beyond. Nothing, or more than 4 EiB: 4 EiB.
  std::optional<Bytes> device;
  /// set_per_process_memory_fraction: asked before the driver is, for what a new segment would take
  /// (`alloc_block`). An expandable segment may exceed it by the rest of its last page.
  std::optional<Bytes> process;
};

/// Limits on a device of `memory` bytes that the process has for itself (`setMemoryFraction`).
Limits limits_of(Bytes memory, const Settings& settings);

/// The lower of the two; nothing where there is none.
std::optional<Bytes> lowest(const Limits& limits);

/// The counters of torch.cuda.memory_stats: allocated_bytes, requested_bytes and reserved_bytes
/// (.all.current), and num_alloc_retries.
struct Usage {
  Bytes allocated;  // blocks handed out
  Bytes requested;  // what was asked for in them
  Bytes reserved;   // held of the device
  int64_t num_retries = 0;
};

/// A contiguous range of device memory, as in torch.cuda.memory_snapshot: its blocks, in order,
/// fill it. Of an expandable segment every mapped range counts as one.
struct Segment {
  int64_t address = 0;
  Bytes bytes;
  PoolKind pool = PoolKind::kSmall;
  std::vector<Block> blocks;
};

/// What lies free in the segments.
struct FreeSpace {
  Bytes total;    // reserved and not allocated
  Bytes largest;  // the largest block
  Bytes stuck;    // of total: does not go back to the driver, since the rest of its segment, or of
                  // its page of an expandable segment, is in use
};

/// Invariant: blocks do not overlap, two free blocks of a segment are never neighbours, and the
/// counters are the sums over the blocks.
class CachingAllocator {
 public:
  explicit CachingAllocator(const Settings& settings, const Limits& limits = {});

  /// A block for `requested` > 0 bytes. Nothing where it is refused, see kRefused, or the limits do
  /// not allow it, even after all that can be given back was given back (`malloc`):
  ///  1. the smallest cached block that is large enough;
  ///  2. else garbage is collected, see garbage_collection_threshold, and new memory taken;
  ///  3. else, with max_split_size_mb, cached oversize blocks are given back and it is tried again;
  ///  4. else all cached segments are given back, and it is tried for the last time.
  std::optional<Handle> allocate(Bytes requested);

  /// Takes a block back (`free_block`). It goes to the pool; nothing goes to the driver.
  void free(Handle block);

  /// A block handed out; as long as it is, its place and size do not change.
  const Block& block(Handle handle) const { return blocks_[handle]; }

  const Usage& usage() const { return usage_; }
  FreeSpace free_space() const;

  /// All segments by address, which is the order they were reserved in: where the driver puts a
  /// segment is not documented, and nothing hangs on it but the choice between equal blocks.
  std::vector<Segment> snapshot() const;

 private:
  struct Request {
    Bytes requested, block, segment;
    PoolKind pool;
  };

  bool oversize(Bytes bytes) const { return settings_.max_split && bytes >= *settings_.max_split; }
  bool collects_garbage() const;
  bool driver_has(Bytes bytes) const;
  std::optional<int64_t> new_addresses(Bytes bytes, Bytes step);

  Handle take_cached(const Request& request);
  Handle take_new(const Request& request);
  Handle add_memory(const Request& request);
  bool worth_cutting(const Request& request, Bytes rest) const;

  void collect_garbage();
  bool release_oversize(const Request& request);
  void release_cached(PoolKind kind);
  void release_segment(Handle block);

  // expandable_segments.cpp
  Bytes page(PoolKind kind) const;
  Bytes whole_pages(const Block& block) const;
  Bytes reach(Handle block) const;
  Handle grow(const Request& request);
  Handle room_to_grow(const Request& request);
  bool has_room(Handle first, Bytes bytes) const;
  bool map(Handle block, Bytes bytes);
  void unmap_cached(PoolKind kind);
  void unmap(Handle block);

  Settings settings_;
  Limits limits_;
  Usage usage_;
  Blocks blocks_;
  int64_t next_address_ = 0;
};

}  // namespace refrain::allocator
