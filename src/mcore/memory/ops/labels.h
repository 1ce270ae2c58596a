// Which recompute labels a run sets.
#pragma once

#include <string>

#include "mcore/run.h"

namespace refrain::mcore::memory {

/// True where recompute is selective and `label` is on the list. Whether the label then does
/// anything is for the op to say: it must find the module it names.
inline bool recomputes(const Run& run, const char* label) {
  return run.recompute.method == Recompute::Method::kSelective &&
         run.recompute.labels.contains(label);
}

}  // namespace refrain::mcore::memory
