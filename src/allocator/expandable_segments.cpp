// Expandable segments (expandable_segments:True): every pool has, as a rule, one segment with
// addresses for more memory than the device has, and pages of memory are mapped into it where they
// are needed: of 2 MiB in the small pool, of large_segment_size_mb in the large pool. A request
// that no cached block serves gets the free block in front of unmapped addresses made longer, so
// that less memory lies in pieces that are each too small.
//
// Source: `ExpandableSegment` and Note [Expandable Segments] of c10/cuda/CUDACachingAllocator.cpp.
#include <algorithm>
#include <utility>

#include "allocator/caching_allocator.h"

namespace refrain::allocator {
namespace {

// The most addresses of a segment: more than any run takes, and few enough for many segments.
constexpr Bytes kManyBytes{int64_t{1} << 52};

int64_t round_down(int64_t address, Bytes page) { return address - address % page.count(); }

int64_t round_up(int64_t address, Bytes page) {
  return round_down(address + page.count() - 1, page);
}

}  // namespace

Bytes CachingAllocator::page(PoolKind kind) const {
  return kind == PoolKind::kSmall ? kSmallSegment : settings_.large_segment;
}

Bytes CachingAllocator::whole_pages(const Block& block) const {
  const Bytes size = page(block.pool);
  return Bytes(std::max<int64_t>(0, round_down(block.end(), size) - round_up(block.address, size)));
}

Bytes CachingAllocator::reach(Handle block) const {
  const Handle next = blocks_[block].next;
  const bool grows = next != kNone && !blocks_[next].mapped;
  return blocks_[block].bytes + (grows ? blocks_[next].bytes : Bytes());
}

// `try_allocate_expandable_block`: maps pages behind a free block until it is large enough. What
// was mapped before the memory ended stays, cached.
Handle CachingAllocator::grow(const Request& request) {
  Handle block = room_to_grow(request);
  if (block == kNone) return kNone;
  if (!blocks_[block].mapped && !map(block, std::min(blocks_[block].bytes, request.block))) {
    return kNone;
  }
  while (blocks_[block].bytes < request.block) {
    const Handle behind = blocks_[block].next;
    const Bytes missing = request.block - blocks_[block].bytes;
    if (!map(behind, std::min(missing, blocks_[behind].bytes))) return kNone;
    block = behind;  // it absorbed the block in front
  }
  blocks_.take(block);
  return block;
}

// `find_expandable_block`: the lowest addresses with room for the request, be they mapped and free
// or unmapped; a new segment where there are none.
Handle CachingAllocator::room_to_grow(const Request& request) {
  for (const auto& [address, unmapped] : blocks_.pool(request.pool).unmapped) {
    const Handle before = blocks_[unmapped].previous;
    const bool extends = before != kNone && !blocks_[before].in_use();
    const Handle first = extends ? before : unmapped;
    if (has_room(first, request.block)) return first;
  }
  // The addresses of a segment: one and an eighth of the device's memory.
  const Bytes size = page(request.pool);
  const int64_t memory = std::min(limits_.device.value_or(kManyBytes), kManyBytes).count();
  const Bytes addresses{round_up(memory + memory / 8, size)};
  if (request.block > addresses) return kNone;
  const std::optional<int64_t> address = new_addresses(addresses, size);
  if (!address) return kNone;
  const Handle segment = blocks_.add(request.pool, *address, addresses);
  blocks_.set_mapped(segment, false);
  blocks_.put_unmerged(segment);
  return segment;
}

bool CachingAllocator::has_room(Handle first, Bytes bytes) const {
  Bytes room;
  for (Handle at = first; at != kNone && !blocks_[at].in_use(); at = blocks_[at].next) {
    room += blocks_[at].bytes;
    if (room >= bytes) return true;
  }
  return false;
}

// `map_block`: memory for the first `bytes` of an unmapped block and for the rest of their last
// page; all of it or none.
bool CachingAllocator::map(Handle block, Bytes bytes) {
  const int64_t begin = blocks_[block].address;
  const Bytes mapped{round_up(begin + bytes.count(), page(blocks_[block].pool)) - begin};
  if (!driver_has(mapped)) return false;
  blocks_.take(block);
  if (mapped < blocks_[block].bytes) blocks_.put_unmerged(blocks_.cut(block, mapped));
  blocks_.set_mapped(block, true);
  blocks_.put(block);
  usage_.reserved += mapped;
  return true;
}

void CachingAllocator::unmap_cached(PoolKind kind) {
  std::vector<Handle> cached;
  for (const Pool::Key& key : blocks_.pool(kind).cached) cached.push_back(key.block);
  for (const Handle block : cached) unmap(block);
}

// `unmap_block`: the whole pages of a cached block lose their memory. A segment without any left
// loses its addresses too.
void CachingAllocator::unmap(Handle block) {
  const Bytes pages = whole_pages(blocks_[block]);
  if (pages == Bytes()) return;
  const int64_t begin = round_up(blocks_[block].address, page(blocks_[block].pool));
  const Bytes before{begin - blocks_[block].address};
  blocks_.take(block);
  if (before > Bytes()) {
    const Handle front = std::exchange(block, blocks_.cut(block, before));
    blocks_.put_unmerged(front);
  }
  if (pages < blocks_[block].bytes) blocks_.put_unmerged(blocks_.cut(block, pages));
  blocks_.set_mapped(block, false);
  blocks_.put(block);
  usage_.reserved -= pages;
  if (!blocks_[block].whole_segment()) return;
  blocks_.take(block);
  blocks_.remove(block);
}

}  // namespace refrain::allocator
