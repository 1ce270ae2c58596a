// What a recorded rank holds as its backward passes begin.
#pragma once

#include "allocator/stream.h"
#include "base/quantity.h"

namespace refrain::plan {

/// Blocks when a backward pass, its loss head's part or the part after that begins: the least of
/// all such moments of the last step recorded.
struct HeldForBackward {
  Bytes saved;        // posted to "saved"
  Bytes beside;       // posted elsewhere
  Bytes beside_head;  // the same of loss heads alone; none: as `beside`
};
HeldForBackward least_held_for_backward(const allocator::Stream& stream);

}  // namespace refrain::plan
