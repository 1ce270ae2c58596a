// What files that use LibTorch, and their tests, include most and pay most for; precompiled by
// refrain_share_headers(). It replaces no include: `make lint` builds without it.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
