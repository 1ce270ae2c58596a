// The blocks that segments are cut into: who is whose neighbour, and which are free.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "base/quantity.h"

namespace refrain::allocator {

/// Names a block as long as it exists.
using Handle = int32_t;
inline constexpr Handle kNone = -1;

/// Blocks of a pool never lie in a segment of the other.
enum class PoolKind : uint8_t { kSmall, kLarge };

struct Block {
  int64_t address = 0;
  Bytes bytes;
  Bytes requested;                        // 0 where free
  Handle previous = kNone, next = kNone;  // neighbours in the segment
  int64_t cached_at = 0;                  // Pool::num_searches when it came in
  PoolKind pool = PoolKind::kSmall;
  bool mapped = true;  // false: addresses of an expandable segment that have no memory

  bool in_use() const { return requested > Bytes(); }
  bool whole_segment() const { return previous == kNone && next == kNone; }
  int64_t end() const { return address + bytes.count(); }
};

/// A set in a sorted vector: a pool has some hundred free blocks, and replays spend their time
/// here.
template <class Key>
class FlatSet {
 public:
  using Iterator = typename std::vector<Key>::const_iterator;

  Iterator begin() const { return keys_.begin(); }
  Iterator end() const { return keys_.end(); }
  bool empty() const { return keys_.empty(); }
  const Key& back() const { return keys_.back(); }
  /// The first that is not less than `key`.
  Iterator lower_bound(const Key& key) const {
    return std::lower_bound(keys_.begin(), keys_.end(), key);
  }

  /// False where it is there already.
  bool insert(const Key& key) {
    const Iterator at = lower_bound(key);
    if (at != end() && !(key < *at)) return false;
    keys_.insert(at, key);
    return true;
  }
  /// False where it is not there.
  bool erase(const Key& key) {
    const Iterator at = lower_bound(key);
    if (at == end() || key < *at) return false;
    keys_.erase(at);
    return true;
  }
  void erase(Iterator at) { keys_.erase(at); }

 private:
  std::vector<Key> keys_;
};

/// The free blocks of one kind of segment (`BlockPool` of CUDACachingAllocator.cpp).
struct Pool {
  /// Best fit: the smallest first and, of equal ones, the lowest address (`BlockComparatorSize`).
  struct Key {
    Bytes bytes;
    int64_t address;
    Handle block;
    bool operator<(const Key& other) const {
      return bytes != other.bytes ? bytes < other.bytes : address < other.address;
    }
  };
  FlatSet<Key> cached;                 // with memory
  std::map<int64_t, Handle> unmapped;  // without, by address
  int64_t num_searches = 0;            // clock of the garbage collection
};

/// Invariant: every block is either in use or in the one set of its pool that `mapped` names, and
/// neighbours are neighbours mutually and by address.
class Blocks {
 public:
  const Block& operator[](Handle block) const { return blocks_[block]; }
  Pool& pool(PoolKind kind) { return pools_[static_cast<size_t>(kind)]; }
  const Pool& pool(PoolKind kind) const { return pools_[static_cast<size_t>(kind)]; }

  /// A block without neighbours, in no set yet.
  Handle add(PoolKind pool, int64_t address, Bytes bytes);

  /// Forgets a block without neighbours that is in no set.
  void remove(Handle block);

  /// Cuts a block that is in no set: it keeps its first `bytes`; the rest, in no set yet, returns.
  Handle cut(Handle block, Bytes bytes);

  /// Puts a block that is not in use into its set, merged with its free neighbours that have memory
  /// as it has, or have none (`try_merge_blocks`).
  void put(Handle block);

  /// The same without merging.
  void put_unmerged(Handle block);

  /// Takes a block out of its set.
  void take(Handle block);

  void hand_out(Handle block, Bytes requested) { blocks_[block].requested = requested; }
  void take_back(Handle block) { blocks_[block].requested = Bytes(); }
  void set_mapped(Handle block, bool mapped) { blocks_[block].mapped = mapped; }

  /// The first blocks of all segments, by address.
  std::vector<Handle> segments() const;

  /// The address behind all blocks.
  int64_t end() const;

 private:
  void absorb(Handle block, Handle neighbour);

  std::vector<Block> blocks_;
  std::vector<Handle> unused_;  // places in blocks_
  std::array<Pool, 2> pools_;
};

}  // namespace refrain::allocator
