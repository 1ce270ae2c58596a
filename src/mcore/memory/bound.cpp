#include "mcore/memory/bound.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "mcore/memory/layer/layer.h"
#include "mcore/memory/tape/caches.h"
#include "mcore/memory/tape/graph.h"
#include "mcore/memory/tape/sizes.h"

namespace refrain::mcore::memory {
namespace {

using allocator::Event;

constexpr double kCapacityFactor = 1.25;
constexpr Bytes kOneElementTensors{7 * 512};

/// Differences, exponentials and quotients of the first, uncompiled call.
Bytes compilation(const Run& run) {
  if (run.place.head_loss != HeadLoss::kNative || !run.place.old_recording) return {};
  const int64_t entries =
      sizes_of(run, run.batch.seq).tokens * padded_vocab(run) / run.parallel.tensor;
  return Bytes(3 * 4 * entries);
}

/// The moments that the optimizer was handed when it was loaded.
Bytes loaded_moments(const Run& run, const allocator::Stream& stream) {
  Bytes moments;
  if (!run.place.resumed) return moments;
  for (const Event& event : stream.events) {
    if (event.kind != Event::Kind::kAllocate) continue;
    if (stream.postings[event.posting] == "state/adam moments") {
      moments += allocator::block_bytes(event.bytes, {});
    }
  }
  return moments;
}

Bytes offloaded_of(const Run& run, const LayerKind& kind) {
  Memory memory;
  Caches caches(run, memory);
  Graph graph(memory);
  Pass pass{.run = run,
            .memory = memory,
            .caches = caches,
            .graph = &graph,
            .sizes = sizes_of(run, run.batch.seq)};
  const Tensor x{memory.allocate(pass.sizes.hidden, "saved/residual stream")};
  const Tensor out = layer(pass, x, kind);
  Bytes bytes;
  for (const OffloadGroupPtr& group : *graph.offloaded()) bytes += Bytes(group->bytes());
  return bytes;
}

}  // namespace

ReplayedRank replay_rank(const Run& run, int64_t rank, const allocator::Settings& settings,
                         int num_steps, const Assumptions& assumptions) {
  ReplayedRank replayed{rank_stream(run, rank, num_steps, assumptions), {}};
  replayed.result = allocator::replay(replayed.stream, settings);
  return replayed;
}

bool has_open_sizes(const Run& run) {
  const bool has_experts =
      std::any_of(run.model.layers.begin(), run.model.layers.end(),
                  [](const LayerKind& kind) { return kind.feed_forward == FeedForward::kExperts; });
  return has_experts || cautious(run).place.cublas_32mib != run.place.cublas_32mib;
}

Run cautious(const Run& run) {
  Run worst = run;
  if (run.place.compute_capability >= 90) worst.place.cublas_32mib = true;
  return worst;
}

Assumptions cautious_assumptions() { return {.expert_load = kCapacityFactor}; }

Bytes misfits(const ReplayedRank& replayed) {
  const auto& [stream, result] = replayed;
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

Bytes offloaded_layer(const Run& run) {
  Bytes most;
  if (run.offload.modules.empty()) return most;
  std::vector<LayerKind> kinds;
  for (const LayerKind& kind : run.model.layers) {
    if (std::ranges::find(kinds, kind) != kinds.end()) continue;
    kinds.push_back(kind);
    most = std::max(most, offloaded_of(run, kind));
  }
  return most;
}

Bytes upper_bound(const Run& run, const ReplayedRank& worst) {
  return worst.result.allocated.bytes + misfits(worst) + offloaded_layer(run) +
         loaded_moments(run, worst.stream) + compilation(run) + kOneElementTensors;
}

}  // namespace refrain::mcore::memory
