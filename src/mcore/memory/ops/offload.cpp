#include "mcore/memory/ops/offload.h"

#include <memory>
#include <utility>

namespace refrain::mcore::memory {

OffloadBracket::OffloadBracket(Pass& pass, const char* module) : module_(module) {
  const Offload& offload = pass.run.offload;
  if (!pass.offloads || !pass.graph->gradients() || !offload.modules.contains(module)) return;
  OffloadOrder& order = pass.caches.offload_order;
  chunk_ = order.open(pass.graph->offloaded(), module);
  pass.graph->record({}, [&order, chunk = chunk_]() -> Gradients {
    order.reload_ahead(*chunk);
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
  OffloadOrder& order = pass.caches.offload_order;
  if (!order.stays(*chunk_, module_)) {
    group_->evict();
    chunk_->away->push_back(group_);
  }
  pass.graph->record({},
                     [&order, group = std::move(group_), chunk = std::move(chunk_)]() -> Gradients {
                       order.begin_backward(*chunk);
                       group->reload();
                       std::erase(*chunk->away, group);
                       return {};
                     });
}

}  // namespace refrain::mcore::memory
