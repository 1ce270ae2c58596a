#include "plan/megatron/held.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "allocator/settings.h"
#include "base/error.h"

namespace refrain::plan {

HeldForBackward least_held_for_backward(const allocator::Stream& stream) {
  using allocator::Event;
  RC_CHECK(!stream.marks.empty());
  const std::string& last = stream.marks.back().phase;
  const std::string step = last.substr(0, last.find(':'));
  struct Live {
    Bytes bytes;
    bool saved = false;
  };
  std::vector<Live> live(static_cast<size_t>(stream.num_blocks));
  HeldForBackward now;
  std::optional<HeldForBackward> least;
  std::optional<Bytes> head;
  size_t at = 0;
  for (const allocator::Mark& mark : stream.marks) {
    for (; at < mark.event; ++at) {
      const Event& event = stream.events[at];
      Live& block = live[event.block];
      if (event.kind == Event::Kind::kAllocate) {
        block = {allocator::block_bytes(event.bytes, {}),
                 stream.postings[event.posting].starts_with("saved/")};
        (block.saved ? now.saved : now.beside) += block.bytes;
      } else {
        (block.saved ? now.saved : now.beside) -= block.bytes;
      }
    }
    const bool begins = mark.phase.find("backward") != std::string::npos;
    if (!begins || !mark.phase.starts_with(step)) continue;
    if (!least) least = now;
    least->saved = std::min(least->saved, now.saved);
    least->beside = std::min(least->beside, now.beside);
    if (mark.phase.find("loss head") == std::string::npos) continue;
    head = head ? std::min(*head, now.beside) : now.beside;
  }
  RC_CHECK(least.has_value(), "a step without a backward");
  least->beside_head = head.value_or(least->beside);
  return *least;
}

}  // namespace refrain::plan
