// Weights, batch and gradients as raw files: how both sides of the race get the same numbers.
//
// A file holds one tensor of the peer, float32, row-major, under the peer's name ("NAME.weight");
// `tokens` and `targets` are int32. The peer has a linear for each of q, k, v, gate and up where
// Refrain has qkv_proj and up_proj, whose rows are theirs one after the other.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lanes.h"

namespace refrain::bench {

/// Writes every weight and the batch into `folder`, which exists. Throws Error where it cannot.
void dump(Lanes& lanes, const std::filesystem::path& folder);

/// A tensor of the peer: `error` is the largest difference over the largest of the peer's numbers.
struct Difference {
  std::string name;
  double error = 0;
};

/// Compares the gradients that Lanes::gradients left with those the peer wrote into `folder`,
/// largest error first. Throws Error where a file is absent or of another size.
std::vector<Difference> compare_gradients(Lanes& lanes, const std::filesystem::path& folder);

}  // namespace refrain::bench
