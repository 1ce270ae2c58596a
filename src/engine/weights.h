// The static state of a run: what the Program calls residents.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "program/program.h"

namespace refrain::engine {

/// One entry a parameter of the model, in the order of Program::params. Entries that the model does
/// not have (masters without bf16, moments of constant tables) are undefined.
struct Weights {
  std::vector<at::Tensor> weight, master, first_moment, second_moment;
};

/// Fresh weights: a pure function of the specs and `seed`, whatever the number of threads. Moments
/// are zero. bf16 weights are the rounded masters.
Weights init_weights(const program::Program& program, uint64_t seed);

/// The tensor that stands for a resident Value.
const at::Tensor& resident(const Weights& weights, const program::Value& value);

at::ScalarType scalar_type(model::DType dtype);

/// Uninitialised, with the Value's shape and dtype, posted to its account.
at::Tensor allocate(const program::Value& value);

}  // namespace refrain::engine
