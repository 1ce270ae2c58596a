// Cutting tensors into views and joining them.
#pragma once

#include <vector>

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// Along rows a part of a tensor is contiguous, along features it is not.
enum class Axis : uint8_t { kRows, kFeatures };

/// Copies `parts` one behind the other into one tensor (torch.cat). Gradients of the parts are
/// views of the whole's; along features whoever reads them copies them.
Tensor joined(Pass& pass, const std::vector<Tensor>& parts, Axis axis);

/// Equal parts of `whole`, as views of it (torch.chunk); their gradients are copied into one.
std::vector<Tensor> views(Pass& pass, const Tensor& whole, int64_t num_parts);

}  // namespace refrain::mcore::memory
