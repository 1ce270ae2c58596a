#include "mcore/memory/tape/offload_order.h"

#include <algorithm>

namespace refrain::mcore::memory {

OffloadOrder::ChunkPtr OffloadOrder::open(const OffloadStack& away, const std::string& module) {
  if (chunks_.empty() || chunks_.back()->away != away) {
    chunks_.push_back(std::make_shared<Chunk>(Chunk{std::ssize(chunks_), away, {}, false}));
    ++num_in_flight_;
  }
  ++chunks_.back()->opened[module];
  return chunks_.back();
}

bool OffloadOrder::stays(const Chunk& chunk, const std::string& module) const {
  for (size_t i = static_cast<size_t>(num_popped_); i < backward_.size() && !learning(); ++i) {
    const Counts& groups = groups_[static_cast<size_t>(backward_[i])];
    const auto of_module = groups.find(module);
    if (of_module == groups.end()) continue;  // the next chunk that has such a module
    return backward_[i] == chunk.index && chunk.opened.at(module) == of_module->second;
  }
  return false;
}

void OffloadOrder::begin_backward(Chunk& chunk) {
  if (chunk.in_backward) return;
  chunk.in_backward = true;
  ++num_popped_;
  if (learning()) backward_.push_back(chunk.index);
  if (--num_in_flight_ > 0) return;
  if (learning()) {
    for (const ChunkPtr& each : chunks_) groups_.push_back(each->opened);
  }
  ++num_rounds_;
  num_popped_ = 0;
  chunks_.clear();
}

void OffloadOrder::reload_ahead(Chunk& chunk) {
  OffloadStack away = chunk.away;
  if (away->empty() && !learning() && num_popped_ > 0 && num_popped_ < std::ssize(backward_)) {
    const auto next = static_cast<size_t>(backward_[static_cast<size_t>(num_popped_)]);
    if (next >= chunks_.size() || chunks_[next]->opened != groups_[next]) return;
    away = chunks_[next]->away;
  }
  if (away->empty()) return;
  away->back()->reload();
  away->pop_back();
}

}  // namespace refrain::mcore::memory
