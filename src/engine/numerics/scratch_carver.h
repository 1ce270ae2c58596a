// Carves the block of scratch that the executor hands over into the pieces that model/scratch.cpp
// summed up.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "model/scratch.h"

namespace refrain::engine {

/// Uninitialised memory of exactly the size the op declares; empty (null) where it declares none.
struct ScratchBlock {
  std::byte* data = nullptr;
  int64_t size = 0;
};

/// Hands out pieces one after the other, each starting at a multiple of model::kScratchAlign (the
/// block does). RC_CHECKs that they fit. Memory is uninitialised and lives as long as the block.
class ScratchCarver {
 public:
  explicit ScratchCarver(ScratchBlock block) : block_(block) {}

  template <class T>
  T* take(int64_t count) {
    return reinterpret_cast<T*>(take_bytes(count * static_cast<int64_t>(sizeof(T))));
  }

  /// A contiguous CPU tensor over the next piece; does not own it.
  at::Tensor tensor(at::IntArrayRef shape, at::ScalarType dtype) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    std::byte* piece = take_bytes(count * static_cast<int64_t>(c10::elementSize(dtype)));
    return at::from_blob(piece, shape, at::TensorOptions().dtype(dtype));
  }

  /// RC_CHECKs that the pieces taken are the whole block: the declared size was exact.
  void check_all_taken() const {
    RC_CHECK(taken_ == block_.size, "{} of {} bytes", taken_, block_.size);
  }

 private:
  std::byte* take_bytes(int64_t bytes) {
    const int64_t begin = taken_;
    taken_ += model::scratch_bytes({Bytes(bytes)}).count();
    RC_CHECK(taken_ <= block_.size, "{} of {} bytes", taken_, block_.size);
    return block_.data + begin;
  }

  ScratchBlock block_;
  int64_t taken_ = 0;
};

}  // namespace refrain::engine
