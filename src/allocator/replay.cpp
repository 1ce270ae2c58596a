#include "allocator/replay.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace refrain::allocator {
namespace {

// Keeps the handles of a stream's blocks, and holds the stream to its promises.
class Player {
 public:
  Player(const Stream& stream, const Settings& settings, const Limits& limits)
      : allocator_(settings, limits),
        handles_(stream.num_blocks, kNone),
        block_bytes_(stream.num_blocks) {}

  /// False: the request was not served.
  bool play(const Event& event) {
    RC_CHECK(event.block >= 0 && std::cmp_less(event.block, handles_.size()), "block {} of {}",
             event.block, handles_.size());
    if (event.kind == Event::Kind::kFree) {
      const Handle handle = std::exchange(handles_[event.block], kNone);
      RC_CHECK(handle != kNone, "block {} is not live", event.block);
      allocator_.free(handle);
      return true;
    }
    RC_CHECK(block_bytes_[event.block] == Bytes(), "block {} comes twice", event.block);
    const std::optional<Handle> handle = allocator_.allocate(event.bytes);
    if (!handle) return false;
    handles_[event.block] = *handle;
    block_bytes_[event.block] = allocator_.block(*handle).bytes;
    return true;
  }

  const Usage& usage() const { return allocator_.usage(); }
  State state() const { return {allocator_.usage(), allocator_.free_space()}; }
  std::vector<Bytes> take_block_bytes() { return std::move(block_bytes_); }

 private:
  CachingAllocator allocator_;
  std::vector<Handle> handles_;     // by BlockId
  std::vector<Bytes> block_bytes_;  // by BlockId
};

void raise(Peak& peak, Bytes bytes, size_t event) {
  if (bytes > peak.bytes) peak = {bytes, event, {}};
}

Failure failure_at(const Stream& stream, size_t event, const Settings& settings,
                   const Limits& limits, const State& state) {
  const Event& request = stream.events[event];
  const Bytes block = block_bytes(request.bytes, settings);
  const std::optional<Bytes> limit = lowest(limits);
  return {.event = event,
          .phase = std::string(phase_of(stream, event)),
          .posting = stream.postings[request.posting],
          .requested = request.bytes,
          .block = block,
          .segment = segment_bytes(block, settings),
          .state = state,
          .scattered = limit && block < kRefused && state.usage.allocated + block <= *limit};
}

void post(std::vector<PostingNode>& level, std::string_view path, const PostingNode& entry) {
  const size_t slash = std::min(path.find('/'), path.size());
  const std::string_view name = path.substr(0, slash);
  auto node = std::ranges::find(level, name, &PostingNode::name);
  if (node == level.end()) node = level.insert(level.end(), {.name = std::string(name)});
  node->blocks += entry.blocks;
  node->requested += entry.requested;
  node->num_blocks += entry.num_blocks;
  if (slash < path.size()) post(node->parts, path.substr(slash + 1), entry);
}

void sort_by_size(std::vector<PostingNode>& level) {
  std::ranges::sort(level, [](const PostingNode& a, const PostingNode& b) {
    return a.blocks != b.blocks ? a.blocks > b.blocks : a.name < b.name;
  });
  for (PostingNode& node : level) sort_by_size(node.parts);
}

}  // namespace

double State::fragmentation() const {
  if (usage.reserved == Bytes()) return 0;
  return static_cast<double>(free.stuck.count()) / static_cast<double>(usage.reserved.count());
}

Result replay(const Stream& stream, const Settings& settings, const Limits& limits) {
  Player player(stream, settings, limits);
  Result result;
  for (size_t event = 0; event < stream.events.size(); ++event) {
    const bool served = player.play(stream.events[event]);
    raise(result.allocated, player.usage().allocated, event);
    raise(result.reserved, player.usage().reserved, event);
    raise(result.requested, player.usage().requested, event);
    if (served) continue;
    result.failure = failure_at(stream, event, settings, limits, player.state());
    break;
  }
  result.end = player.state();
  result.block_bytes = player.take_block_bytes();
  for (Peak* peak : {&result.allocated, &result.reserved, &result.requested}) {
    peak->phase = phase_of(stream, peak->event);
  }
  if (result.allocated.bytes > Bytes()) {
    result.at_peak = live_postings(stream, result.block_bytes, result.allocated.event);
  }
  return result;
}

std::vector<PostingNode> live_postings(const Stream& stream, const std::vector<Bytes>& block_bytes,
                                       size_t event) {
  RC_CHECK(event < stream.events.size(), "event {} of {}", event, stream.events.size());
  std::vector<const Event*> live(stream.num_blocks, nullptr);
  for (size_t e = 0; e <= event; ++e) {
    const Event& now = stream.events[e];
    live[now.block] = now.kind == Event::Kind::kAllocate ? &now : nullptr;
  }
  std::vector<PostingNode> totals(stream.postings.size());
  for (const Event* request : live) {
    if (request == nullptr || block_bytes[request->block] == Bytes()) continue;
    PostingNode& total = totals[request->posting];
    total.blocks += block_bytes[request->block];
    total.requested += request->bytes;
    ++total.num_blocks;
  }
  std::vector<PostingNode> accounts;
  for (size_t posting = 0; posting < totals.size(); ++posting) {
    if (totals[posting].num_blocks == 0) continue;
    post(accounts, stream.postings[posting], totals[posting]);
  }
  sort_by_size(accounts);
  return accounts;
}

std::string_view phase_of(const Stream& stream, size_t event) {
  const auto next = std::ranges::upper_bound(stream.marks, event, {}, &Mark::event);
  return next == stream.marks.begin() ? std::string_view() : std::prev(next)->phase;
}

SegmentComparison compare_expandable(const Stream& stream, const Settings& settings,
                                     const Limits& limits) {
  Settings expandable = settings;
  expandable.expandable_segments = true;
  return {.as_set = replay(stream, settings, limits),
          .expandable = replay(stream, expandable, limits)};
}

}  // namespace refrain::allocator
