#include "allocator/blocks.h"

#include <algorithm>

#include "base/error.h"

namespace refrain::allocator {

Handle Blocks::add(PoolKind pool, int64_t address, Bytes bytes) {
  Handle block = static_cast<Handle>(blocks_.size());
  if (unused_.empty()) {
    blocks_.emplace_back();
  } else {
    block = unused_.back();
    unused_.pop_back();
  }
  blocks_[block] = {.address = address, .bytes = bytes, .pool = pool};
  return block;
}

void Blocks::remove(Handle block) {
  RC_CHECK(blocks_[block].whole_segment(), "block at {} has neighbours", blocks_[block].address);
  blocks_[block].bytes = Bytes();
  unused_.push_back(block);
}

Handle Blocks::cut(Handle block, Bytes bytes) {
  RC_CHECK(bytes > Bytes() && bytes < blocks_[block].bytes, "{} of {} B", bytes.count(),
           blocks_[block].bytes.count());
  const Block whole = blocks_[block];
  const Handle rest = add(whole.pool, whole.address + bytes.count(), whole.bytes - bytes);
  blocks_[rest].mapped = whole.mapped;
  blocks_[rest].previous = block;
  blocks_[rest].next = whole.next;
  if (whole.next != kNone) blocks_[whole.next].previous = rest;
  blocks_[block].next = rest;
  blocks_[block].bytes = bytes;
  return rest;
}

void Blocks::put(Handle block) {
  for (const Handle neighbour : {blocks_[block].previous, blocks_[block].next}) {
    if (neighbour == kNone || blocks_[neighbour].in_use()) continue;
    if (blocks_[neighbour].mapped == blocks_[block].mapped) absorb(block, neighbour);
  }
  put_unmerged(block);
}

void Blocks::put_unmerged(Handle block) {
  Block& added = blocks_[block];
  Pool& into = pool(added.pool);
  added.cached_at = into.num_searches;
  const bool inserted = added.mapped ? into.cached.insert({added.bytes, added.address, block})
                                     : into.unmapped.emplace(added.address, block).second;
  RC_CHECK(inserted, "two free blocks at {}", added.address);
}

void Blocks::take(Handle block) {
  const Block& taken = blocks_[block];
  Pool& from = pool(taken.pool);
  const bool erased = taken.mapped ? from.cached.erase({taken.bytes, taken.address, block})
                                   : from.unmapped.erase(taken.address) == 1;
  RC_CHECK(erased, "block at {} is not free", taken.address);
}

std::vector<Handle> Blocks::segments() const {
  std::vector<Handle> first;
  for (Handle block = 0; block < static_cast<Handle>(blocks_.size()); ++block) {
    if (blocks_[block].bytes > Bytes() && blocks_[block].previous == kNone) first.push_back(block);
  }
  std::ranges::sort(first, {}, [&](Handle block) { return blocks_[block].address; });
  return first;
}

int64_t Blocks::end() const {
  int64_t end = 0;
  for (const Block& block : blocks_) {
    if (block.bytes > Bytes()) end = std::max(end, block.end());
  }
  return end;
}

void Blocks::absorb(Handle block, Handle neighbour) {
  take(neighbour);
  const Block gone = blocks_[neighbour];
  Block& grown = blocks_[block];
  grown.bytes += gone.bytes;
  if (grown.previous == neighbour) {
    grown.address = gone.address;
    grown.previous = gone.previous;
    if (gone.previous != kNone) blocks_[gone.previous].next = block;
  } else {
    grown.next = gone.next;
    if (gone.next != kNone) blocks_[gone.next].previous = block;
  }
  blocks_[neighbour].previous = blocks_[neighbour].next = kNone;
  remove(neighbour);
}

}  // namespace refrain::allocator
