#include "allocator/caching_allocator.h"

#include <algorithm>

#include "base/error.h"

namespace refrain::allocator {
namespace {

// The memory of a device without a limit, and all addresses: more than any run takes, and few
// enough that one more segment can be added to them.
constexpr Bytes kEndless{int64_t{1} << 62};

}  // namespace

Limits limits_of(Bytes memory, const Settings& settings) {
  Limits limits{.device = memory};
  if (settings.process_fraction < 1) {
    const double share = settings.process_fraction * static_cast<double>(memory.count());
    limits.process = Bytes(static_cast<int64_t>(share));
  }
  return limits;
}

std::optional<Bytes> lowest(const Limits& limits) {
  if (!limits.device || !limits.process) return limits.device ? limits.device : limits.process;
  return std::min(*limits.device, *limits.process);
}

CachingAllocator::CachingAllocator(const Settings& settings, const Limits& limits)
    : settings_(settings), limits_(limits) {}

std::optional<Handle> CachingAllocator::allocate(Bytes requested) {
  RC_CHECK(requested > Bytes(), "{} B", requested.count());
  if (requested >= kRefused) return std::nullopt;
  const Bytes bytes = block_bytes(requested, settings_);
  const Request request{requested, bytes, segment_bytes(bytes, settings_),
                        bytes <= kSmallLimit ? PoolKind::kSmall : PoolKind::kLarge};
  Handle block = take_cached(request);
  if (block == kNone) block = take_new(request);
  if (block == kNone) return std::nullopt;

  if (worth_cutting(request, blocks_[block].bytes - request.block)) {
    blocks_.put_unmerged(blocks_.cut(block, request.block));
  }
  blocks_.hand_out(block, requested);
  usage_.allocated += blocks_[block].bytes;
  usage_.requested += requested;
  return block;
}

void CachingAllocator::free(Handle block) {
  RC_CHECK(blocks_[block].in_use(), "block at {} is free", blocks_[block].address);
  usage_.allocated -= blocks_[block].bytes;
  usage_.requested -= blocks_[block].requested;
  blocks_.take_back(block);
  blocks_.put(block);
}

// PyTorch asks for a limit of the process, whatever the device has: without one nothing is
// collected.
bool CachingAllocator::collects_garbage() const {
  return limits_.process && settings_.garbage_collection_threshold > 0;
}

bool CachingAllocator::driver_has(Bytes bytes) const {
  return usage_.reserved + bytes <= std::min(limits_.device.value_or(kEndless), kEndless);
}

// The first of `bytes` addresses, a multiple of `step`, behind all that any segment had; where they
// end, behind those that segments have.
std::optional<int64_t> CachingAllocator::new_addresses(Bytes bytes, Bytes step) {
  const auto behind = [&](int64_t address) -> std::optional<int64_t> {
    const int64_t first = (address + step.count() - 1) / step.count() * step.count();
    if (bytes > kEndless - Bytes(first)) return std::nullopt;
    return first;
  };
  std::optional<int64_t> first = behind(next_address_);
  if (!first) first = behind(blocks_.end());
  if (first) next_address_ = *first + bytes.count();
  return first;
}

// `get_free_block`: the best fit, unless only one of the two is oversize, or both are and too much
// of the block would lie idle, since it is not cut.
Handle CachingAllocator::take_cached(const Request& request) {
  Pool& pool = blocks_.pool(request.pool);
  if (collects_garbage()) ++pool.num_searches;
  auto best = pool.cached.lower_bound({request.block, 0, kNone});
  if (best == pool.cached.end()) return kNone;
  if (settings_.expandable_segments) {
    // A block that can grow is as large as it can grow to.
    for (auto next = std::next(best); next != pool.cached.end(); best = next++) {
      if (reach(next->block) >= reach(best->block)) break;
    }
  }
  const Bytes bytes = best->bytes;
  if (oversize(bytes) && !oversize(request.block)) return kNone;
  if (oversize(request.block) && bytes >= request.block + settings_.max_non_split_rounding) {
    return kNone;
  }
  const Handle block = best->block;
  pool.cached.erase(best);
  return block;
}

Handle CachingAllocator::take_new(const Request& request) {
  if (collects_garbage()) collect_garbage();
  Handle block = add_memory(request);
  if (block != kNone) return block;
  if (release_oversize(request)) block = add_memory(request);
  if (block != kNone) return block;
  release_cached(PoolKind::kLarge);
  release_cached(PoolKind::kSmall);
  ++usage_.num_retries;
  return add_memory(request);
}

// `alloc_block`. The process's limit is held against a whole segment, also where an expandable
// segment would need fewer pages.
Handle CachingAllocator::add_memory(const Request& request) {
  if (limits_.process && usage_.reserved + request.segment > *limits_.process) return kNone;
  if (settings_.expandable_segments) return grow(request);
  if (!driver_has(request.segment)) return kNone;
  const std::optional<int64_t> address = new_addresses(request.segment, Bytes(1));
  if (!address) return kNone;
  usage_.reserved += request.segment;
  return blocks_.add(request.pool, *address, request.segment);
}

// `should_split`.
bool CachingAllocator::worth_cutting(const Request& request, Bytes rest) const {
  if (request.pool == PoolKind::kSmall || settings_.expandable_segments) return rest >= kBlockStep;
  return !oversize(request.block) && rest > kSmallLimit;
}

// `garbage_collect_cached_blocks`: above the threshold, whole large segments are given back that
// have lain idle for at least as long as the average one, by the number of searches since; and
// again, until what exceeds the threshold is reached or nothing is left. Ends: every round but the
// last gives at least one segment back.
void CachingAllocator::collect_garbage() {
  const auto threshold = Bytes(static_cast<int64_t>(settings_.garbage_collection_threshold *
                                                    static_cast<double>(limits_.process->count())));
  if (usage_.reserved <= threshold || settings_.expandable_segments) return;
  const Pool& pool = blocks_.pool(PoolKind::kLarge);
  const auto age = [&](Handle block) { return pool.num_searches - blocks_[block].cached_at; };
  std::vector<Handle> idle;
  int64_t total_age = 0;
  for (const Pool::Key& key : pool.cached) {
    if (!blocks_[key.block].whole_segment()) continue;
    idle.push_back(key.block);
    total_age += age(key.block);
  }
  const Bytes target = usage_.reserved - threshold;
  for (Bytes released; released < target && !idle.empty();) {
    const double average = static_cast<double>(total_age) / static_cast<double>(idle.size());
    std::vector<Handle> younger;
    for (const Handle block : idle) {
      if (static_cast<double>(age(block)) < average) {
        younger.push_back(block);
        continue;
      }
      released += blocks_[block].bytes;
      total_age -= age(block);
      blocks_.take(block);
      release_segment(block);
    }
    idle = std::move(younger);
  }
}

// `release_available_cached_blocks`: the smallest cached oversize block that the request would fit
// into, or else the largest ones until their sum does. What was given back stays so where that is
// not reached.
bool CachingAllocator::release_oversize(const Request& request) {
  if (!settings_.max_split || settings_.expandable_segments) return false;
  Pool& pool = blocks_.pool(request.pool);
  const Bytes wanted = std::max(request.block, *settings_.max_split);
  const auto release = [&](Handle block) {
    const Bytes bytes = blocks_[block].bytes;
    blocks_.take(block);
    release_segment(block);
    return bytes;
  };
  if (const auto one = pool.cached.lower_bound({wanted, 0, kNone}); one != pool.cached.end()) {
    return release(one->block) >= wanted;
  }
  Bytes released;
  while (released < wanted && !pool.cached.empty() && oversize(pool.cached.back().bytes)) {
    released += release(pool.cached.back().block);
  }
  return released >= wanted;
}

// `release_blocks`: all segments without a block in use, and all whole free pages of expandable
// ones.
void CachingAllocator::release_cached(PoolKind kind) {
  if (settings_.expandable_segments) return unmap_cached(kind);
  std::vector<Handle> idle;
  for (const Pool::Key& key : blocks_.pool(kind).cached) {
    if (blocks_[key.block].whole_segment()) idle.push_back(key.block);
  }
  for (const Handle block : idle) {
    blocks_.take(block);
    release_segment(block);
  }
}

void CachingAllocator::release_segment(Handle block) {
  usage_.reserved -= blocks_[block].bytes;
  blocks_.remove(block);
}

FreeSpace CachingAllocator::free_space() const {
  FreeSpace space;
  for (const PoolKind kind : {PoolKind::kSmall, PoolKind::kLarge}) {
    const auto& cached = blocks_.pool(kind).cached;
    if (!cached.empty()) space.largest = std::max(space.largest, cached.back().bytes);
    for (const Pool::Key& key : cached) {
      const Block& block = blocks_[key.block];
      space.total += block.bytes;
      if (settings_.expandable_segments) {
        space.stuck += block.bytes - whole_pages(block);
      } else if (!block.whole_segment()) {
        space.stuck += block.bytes;
      }
    }
  }
  return space;
}

std::vector<Segment> CachingAllocator::snapshot() const {
  std::vector<Segment> segments;
  for (const Handle first : blocks_.segments()) {
    bool continues = false;
    for (Handle at = first; at != kNone; at = blocks_[at].next) {
      const Block& block = blocks_[at];
      if (block.mapped && !continues) {
        segments.push_back({.address = block.address, .pool = block.pool});
      }
      continues = block.mapped;
      if (!block.mapped) continue;
      segments.back().bytes += block.bytes;
      segments.back().blocks.push_back(block);
    }
  }
  return segments;
}

}  // namespace refrain::allocator
