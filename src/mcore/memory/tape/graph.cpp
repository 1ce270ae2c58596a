#include "mcore/memory/tape/graph.h"

#include <algorithm>
#include <set>

namespace refrain::mcore::memory {

Tensor::Tensor(Storage whole) : storage(std::move(whole)), gradient(std::make_shared<Gradient>()) {
  gradient->bytes = storage ? storage->bytes() : 0;
}

Tensor::Tensor(Storage base, int64_t view_bytes)
    : storage(std::move(base)), gradient(std::make_shared<Gradient>(Gradient{view_bytes, {}})) {}

void accumulate(Memory& memory, const GradientSlot& slot, Storage gradient) {
  if (gradient == nullptr) return;
  if (slot->storage == nullptr) {
    slot->storage = std::move(gradient);
    return;
  }
  slot->storage = memory.allocate(slot->bytes, "gradient/sum");
}

void OffloadGroup::add(const Storage& storage) {
  if (storage != nullptr && storage->bytes() >= min_bytes_) storages_.push_back(storage);
}

void OffloadGroup::evict() {
  for (const auto& reference : storages_) {
    if (const Storage storage = reference.lock()) storage->discard();
  }
}

void OffloadGroup::reload() {
  std::vector<Storage> returned;
  for (const auto& reference : storages_) {
    const Storage storage = reference.lock();
    if (storage == nullptr) continue;
    if (std::ranges::find(returned, storage) != returned.end()) {
      copies_.push_back(storage->copy());
    } else if (!storage->resident()) {
      storage->restore();
      returned.push_back(storage);
    }
  }
}

int64_t OffloadGroup::bytes() const {
  std::set<Storage> distinct;
  for (const auto& reference : storages_) distinct.insert(reference.lock());
  distinct.erase(nullptr);
  int64_t bytes = 0;
  for (const Storage& storage : distinct) bytes += storage->bytes();
  return bytes;
}

void Graph::record(std::vector<Storage> saved, Node node) {
  for (const Storage& storage : saved) offer(storage);
  nodes_.emplace_back(std::move(saved), std::move(node));
}

void Graph::offer(const Storage& storage) const {
  if (group_ != nullptr && gradients()) group_->add(storage);
}

void Graph::end_of_layer() {
  if (!gradients()) nodes_.clear();
}

void Graph::backward() {
  while (!nodes_.empty()) {
    Gradients gradients;
    {
      const auto [saved, node] = std::move(nodes_.back());
      nodes_.pop_back();
      gradients = node();
    }
    for (auto& [slot, gradient] : gradients) accumulate(memory_, slot, std::move(gradient));
  }
}

}  // namespace refrain::mcore::memory
