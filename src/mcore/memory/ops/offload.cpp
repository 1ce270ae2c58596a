#include "mcore/memory/ops/offload.h"

#include <memory>
#include <utility>

namespace refrain::mcore::memory {

OffloadBracket::OffloadBracket(Pass& pass, const char* module) {
  const Offload& offload = pass.run.offload;
  if (!pass.offloads || !pass.graph->gradients() || !offload.modules.contains(module)) return;
  pass.graph->record({}, [offloaded = pass.graph->offloaded()]() -> Gradients {
    if (!offloaded->empty()) {
      offloaded->back()->reload();
      offloaded->pop_back();
    }
    return {};
  });
  group_ = std::make_shared<OffloadGroup>(offload.min_elements * pass.sizes.element);
  pass.graph->open(group_);
}

void OffloadBracket::close(Pass& pass) {
  if (group_ != nullptr) pass.graph->close();
}

void OffloadBracket::commit(Pass& pass) {
  if (group_ == nullptr) return;
  group_->evict();
  const OffloadStack& offloaded = pass.graph->offloaded();
  offloaded->push_back(group_);
  pass.graph->record({}, [group = std::move(group_), offloaded]() -> Gradients {
    group->reload();
    std::erase(*offloaded, group);
    return {};
  });
}

}  // namespace refrain::mcore::memory
