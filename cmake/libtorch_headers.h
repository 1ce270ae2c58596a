// What nearly every file that uses LibTorch includes; see refrain_share_libtorch_headers().
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
