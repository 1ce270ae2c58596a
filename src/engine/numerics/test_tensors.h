// Test support: reproducible tensors, their comparison, scratch, numbers of threads.
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/numerics/scratch_carver.h"
#include "model/scratch.h"

namespace refrain::engine {

using Tensors = std::vector<at::Tensor>;

/// Normal values, reproducible; rounded to bf16 whatever the dtype, so that the same numbers can be
/// given to kernels of every dtype.
inline at::Tensor random_tensor(at::IntArrayRef shape, at::ScalarType dtype, uint64_t seed) {
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn(shape, generator, at::kDouble).to(at::kBFloat16).to(dtype);
}

/// Bitwise: NaN equals NaN, 0 differs from -0.
inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         std::memcmp(a.contiguous().const_data_ptr(), b.contiguous().const_data_ptr(),
                     a.nbytes()) == 0;
}

/// Largest difference in units of (1 + the largest magnitude of `expected`); infinite for NaN.
inline double relative_error(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.numel() == 0) return 0;
  const at::Tensor wide = expected.detach().to(at::kDouble).reshape(actual.sizes());
  const double difference = (actual.to(at::kDouble) - wide).abs().max().item<double>();
  const double scale = 1 + wide.abs().max().item<double>();
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference / scale;
}

/// What relative_error may reach: rounding of one element of this dtype, or of a sum of many.
inline double tolerance(at::ScalarType dtype) {
  return dtype == at::kDouble ? 1e-12 : dtype == at::kFloat ? 2e-6 : 5e-3;
}

/// A block of scratch that starts at a multiple of kScratchAlign, filled with NaN.
class NanScratch {
 public:
  explicit NanScratch(Bytes size)
      : bytes_(at::full({size.count() + model::kScratchAlign}, 0xFF, at::kByte)), size_(size) {}

  ScratchBlock block() const {
    if (size_.count() == 0) return {};
    auto* start = static_cast<std::byte*>(bytes_.mutable_data_ptr());
    const auto misfit = reinterpret_cast<uintptr_t>(start) % model::kScratchAlign;
    return {start + (model::kScratchAlign - misfit) % model::kScratchAlign, size_.count()};
  }

 private:
  at::Tensor bytes_;
  Bytes size_;
};

/// Sets the number of threads for as long as it lives.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(at::get_num_threads()) {
    at::set_num_threads(threads);
  }
  ~ThreadScope() { at::set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

}  // namespace refrain::engine
