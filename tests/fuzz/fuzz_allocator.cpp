// Any bytes as settings, a limit and the events of a run on the allocator model: blocks never
// overlap, the counters are the sums over them, the limit holds, what was freed can be given back,
// and a replay of the recorded stream counts the same.
//
// The first line is PYTORCH_ALLOC_CONF; two bytes the limit in MiB, 0 for none; then a byte an
// event, and another for which block it frees or how many bytes it asks for.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/recorder.h"
#include "allocator/replay.h"
#include "base/error.h"

namespace {

using namespace refrain;
using namespace refrain::allocator;

class Script {
 public:
  explicit Script(std::string_view bytes) : bytes_(bytes) {}

  bool ends() const { return bytes_.empty(); }

  /// 0 behind the end.
  int64_t byte() {
    if (bytes_.empty()) return 0;
    const auto first = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }

  std::string_view line() {
    const size_t end = std::min(bytes_.find('\n'), bytes_.size());
    const std::string_view text = bytes_.substr(0, end);
    bytes_.remove_prefix(std::min(end + 1, bytes_.size()));
    return text;
  }

 private:
  std::string_view bytes_;
};

constexpr int64_t kNumFrees = 96;  // first bytes below it free a block

/// 1 B to 4 EiB, three of five from 512 B to 8 GiB, where pools and segments differ.
Bytes size_of(int64_t kind, int64_t fraction) {
  const int64_t power = kind < 62 ? kind : 9 + kind % 24;
  const int64_t whole = int64_t{1} << power;
  return Bytes(whole + (power < 8 ? fraction * whole / 256 : (whole >> 8) * fraction));
}

/// Blocks fill their segments one after the other, segments do not overlap, no two free blocks are
/// neighbours; the sums of both.
Usage add_up(const std::vector<Segment>& segments) {
  Usage sums;
  int64_t end = 0;
  for (const Segment& segment : segments) {
    RC_CHECK(segment.address >= end, "{} after {}", segment.address, end);
    end = segment.address;
    bool after_free = false;
    for (const Block& block : segment.blocks) {
      RC_CHECK(block.address == end && block.bytes > Bytes() && block.pool == segment.pool,
               "{} after {}", block.address, end);
      RC_CHECK(block.in_use() || !after_free, "two free blocks at {}", block.address);
      RC_CHECK(block.requested <= block.bytes, "{} of {} B", block.requested.count(),
               block.bytes.count());
      after_free = !block.in_use();
      end = block.end();
      sums.requested += block.requested;
      if (block.in_use()) sums.allocated += block.bytes;
    }
    sums.reserved += segment.bytes;
    RC_CHECK(end == segment.address + segment.bytes.count(), "segment at {}", segment.address);
  }
  return sums;
}

class Run {
 public:
  Run(const Settings& settings, const Limits& limits)
      : settings_(settings), limits_(limits), allocator_(settings, limits) {}

  void play(Script& script) {
    constexpr const char* kPostings[] = {"saved", "saved/attn.qkv", "state/main gradients", "/"};
    const int64_t kind = script.byte(), detail = script.byte();
    if (kind >= kNumFrees) return allocate(size_of(kind - kNumFrees, detail), kPostings[kind % 4]);
    if (live_.empty()) return;
    std::swap(live_[detail % std::ssize(live_)], live_.back());
    free_last();
  }

  void free_all() {
    recording_ = false;
    while (!live_.empty()) free_last();
    const Usage& usage = allocator_.usage();
    RC_CHECK(usage.allocated == Bytes() && usage.requested == Bytes(), "{} and {} B",
             usage.allocated.count(), usage.requested.count());
    RC_CHECK(allocator_.free_space().stuck == Bytes(), "{} B",
             allocator_.free_space().stuck.count());
  }

  void check() const {
    const Usage& usage = allocator_.usage();
    const Usage sums = add_up(allocator_.snapshot());
    RC_CHECK(sums.allocated == usage.allocated && sums.requested == usage.requested &&
                 sums.reserved == usage.reserved,
             "{}, {}, {} B", usage.allocated.count(), usage.requested.count(),
             usage.reserved.count());
    const FreeSpace space = allocator_.free_space();
    RC_CHECK(space.total == usage.reserved - usage.allocated && space.stuck <= space.total &&
                 space.largest <= space.total,
             "{}, {}, {} B", space.total.count(), space.stuck.count(), space.largest.count());
    RC_CHECK(usage.reserved <= limits_.device.value_or(usage.reserved), "{} B",
             usage.reserved.count());
    const Bytes page = settings_.expandable_segments ? settings_.large_segment : Bytes();
    RC_CHECK(usage.reserved <= limits_.process.value_or(usage.reserved) + page, "{} B",
             usage.reserved.count());
  }

  /// What was recorded ends with the first request that failed, if one did.
  void replay_recorded() {
    const Stream stream = recorder_.take();
    const Result result = replay(stream, settings_, limits_);
    RC_CHECK(result.failure.has_value() == failed_, "{} events", stream.events.size());
    RC_CHECK(result.allocated.bytes == most_.allocated && result.reserved.bytes == most_.reserved &&
                 result.requested.bytes == most_.requested,
             "{} and {} B allocated", result.allocated.bytes.count(), most_.allocated.count());
    if (result.failure) {
      live_postings(stream, result.block_bytes, result.failure->event);
      compare_expandable(stream, settings_, limits_);
    }
  }

 private:
  struct Live {
    Handle handle;
    BlockId recorded;
  };

  void allocate(Bytes bytes, const char* posting) {
    const BlockId recorded =
        recording_ ? recorder_.allocate(bytes.count(), recorder_.posting(posting)) : kNoBlock;
    const std::optional<Handle> handle = allocator_.allocate(bytes);
    if (handle) {
      live_.push_back({*handle, recorded});
      RC_CHECK(allocator_.block(*handle).bytes >= bytes, "{} B", bytes.count());
    }
    if (recording_) raise();
    failed_ = failed_ || !handle;
    recording_ = recording_ && !failed_;
  }

  void free_last() {
    const auto [handle, recorded] = live_.back();
    live_.pop_back();
    allocator_.free(handle);
    if (recording_) recorder_.free(recorded);
  }

  void raise() {
    const Usage& usage = allocator_.usage();
    most_.allocated = std::max(most_.allocated, usage.allocated);
    most_.requested = std::max(most_.requested, usage.requested);
    most_.reserved = std::max(most_.reserved, usage.reserved);
  }

  Settings settings_;
  Limits limits_;
  CachingAllocator allocator_;
  Recorder recorder_;
  std::vector<Live> live_;
  bool failed_ = false, recording_ = true;
  Usage most_;  // while recording
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Script script({reinterpret_cast<const char*>(data), size});
  const Settings settings = parse_settings(script.line()).value.value_or(Settings());
  int64_t limit_mib = 256 * script.byte();
  limit_mib += script.byte();
  Run run(settings, limit_mib == 0 ? Limits() : limits_of(kMiB * limit_mib, settings));
  const size_t between_checks = 1 + size / 128;  // a check looks at every block
  for (size_t event = 1; !script.ends(); ++event) {
    run.play(script);
    if (event % between_checks == 0) run.check();
  }
  run.check();
  run.replay_recorded();
  run.free_all();
  run.check();
  return 0;
}
