// Fine-grained activation offload (core/pipeline_parallel/fine_grained_activation_offload.py): what
// a module saves leaves the device once it has run, and comes back before its backward.
#pragma once

#include "mcore/memory/ops/pass.h"
#include "mcore/memory/tape/offload_order.h"

namespace refrain::mcore::memory {

/// Around one module. Does nothing where the run does not offload that module, or in a region that
/// runs without gradients.
class OffloadBracket {
 public:
  /// What is saved from here on joins the module's group. In backward, once the module is done, a
  /// group is asked back ahead (OffloadOrder).
  OffloadBracket(Pass& pass, const char* module);

  /// Nothing more joins.
  void close(Pass& pass);

  /// The group leaves, unless it is needed next; backward waits here until it is back.
  void commit(Pass& pass);

 private:
  const char* module_;
  OffloadGroupPtr group_;
  OffloadOrder::ChunkPtr chunk_;
};

}  // namespace refrain::mcore::memory
