#include "mcore/memory/ops/parts.h"

#include <utility>

namespace refrain::mcore::memory {

Tensor joined(Pass& pass, const std::vector<Tensor>& parts, Axis axis) {
  int64_t bytes = 0;
  std::vector<GradientSlot> to;
  for (const Tensor& part : parts) {
    bytes += part.bytes();
    to.push_back(part.gradient);
  }
  Tensor out(pass.memory.allocate(bytes, "saved/joined"));
  pass.graph->record({}, [pass, axis, from = out.gradient, to]() -> Gradients {
    const Storage incoming = take(from);
    Gradients gradients;
    for (const GradientSlot& slot : to) {
      gradients.emplace_back(slot, axis == Axis::kRows
                                       ? incoming
                                       : pass.memory.allocate(slot->bytes, "gradient/part"));
    }
    return gradients;
  });
  return out;
}

std::vector<Tensor> views(Pass& pass, const Tensor& whole, int64_t num_parts) {
  std::vector<Tensor> parts;
  std::vector<GradientSlot> from;
  for (int64_t i = 0; i < num_parts; ++i) {
    parts.emplace_back(whole.storage, whole.bytes() / num_parts);
    from.push_back(parts.back().gradient);
  }
  pass.graph->record({}, [pass, from, to = whole.gradient]() -> Gradients {
    Storage gradient = pass.memory.allocate(to->bytes, "gradient/joined");
    for (const GradientSlot& slot : from) slot->storage.reset();
    return {{to, std::move(gradient)}};
  });
  return parts;
}

}  // namespace refrain::mcore::memory
