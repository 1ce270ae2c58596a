#include "mcore/memory/bound.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "mcore/memory/tape/sizes.h"

namespace refrain::mcore::memory {
namespace {

constexpr double kCapacityFactor = 1.25;
constexpr Bytes kOneElementTensors{7 * 512};

/// Differences, exponentials and quotients of the first, uncompiled call.
Bytes compilation(const Run& run) {
  if (run.place.head_loss != HeadLoss::kNative || !run.place.old_recording) return {};
  const int64_t entries =
      sizes_of(run, run.batch.seq).tokens * padded_vocab(run) / run.parallel.tensor;
  return Bytes(3 * 4 * entries);
}

/// Groups of offloaded modules that are back early or never left.
Bytes waiting_groups(const Run& run, const allocator::Stream& stream) {
  Bytes largest;
  if (run.offload.modules.empty()) return largest;
  for (const allocator::Event& event : stream.events) {
    if (event.kind != allocator::Event::Kind::kAllocate) continue;
    if (stream.postings[event.posting].starts_with("saved/")) {
      largest = std::max(largest, event.bytes);
    }
  }
  return largest * 2;
}

}  // namespace

Run cautious(const Run& run) {
  Run worst = run;
  if (run.place.compute_capability >= 90) worst.place.cublas_32mib = true;
  return worst;
}

Assumptions cautious_assumptions() { return {.expert_load = kCapacityFactor}; }

Bytes misfits(const allocator::Stream& stream, const allocator::Result& result) {
  using allocator::Event;
  std::vector<const Event*> live(static_cast<size_t>(stream.num_blocks), nullptr);
  const size_t end = std::min(result.allocated.event + 1, stream.events.size());
  for (size_t i = 0; i < end; ++i) {
    const Event& event = stream.events[i];
    live[event.block] = event.kind == Event::Kind::kAllocate ? &event : nullptr;
  }
  Bytes allowed;
  std::set<std::pair<allocator::PostingId, Bytes>> kinds;
  for (const Event* event : live) {
    if (event == nullptr) continue;
    const Bytes asked = allocator::block_bytes(event->bytes, {});
    if (asked <= allocator::kSmallLimit) continue;
    const bool is_new = kinds.emplace(event->posting, asked).second;
    if (is_new) allowed += allocator::kMiB;
  }
  return allowed;
}

Bytes upper_bound(const Run& run, int64_t rank, const allocator::Settings& settings,
                  int num_steps) {
  const allocator::Stream stream =
      rank_stream(cautious(run), rank, num_steps, cautious_assumptions());
  const allocator::Result result = allocator::replay(stream, settings);
  return result.allocated.bytes + misfits(stream, result) + waiting_groups(run, stream) +
         compilation(run) + kOneElementTensors;
}

}  // namespace refrain::mcore::memory
