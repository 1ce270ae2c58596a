#include "mcore/memory/tape/caches.h"

#include "mcore/memory/tape/sizes.h"

namespace refrain::mcore::memory {
namespace {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int64_t kCublasDefault = 8 * kMiB + 128 * kKiB;  // ":4096:2:16:8"

}  // namespace

void Caches::cublas(Thread thread) {
  Storage& workspace = cublas_[thread];
  if (workspace != nullptr) return;
  workspace =
      memory_.allocate(run_.place.cublas_32mib ? 32 * kMiB : kCublasDefault, "workspace/cuBLAS");
}

void Caches::linear(Thread thread) {
  if (run_.place.transformer_engine) {
    te_gemm();
  } else {
    cublas(thread);
  }
}

int64_t Caches::te_workspace_bytes() const {
  return run_.place.compute_capability >= 90 ? 32 * kMiB + kKiB : 4 * kMiB;
}

void Caches::te_gemm() {
  constexpr size_t kOverlapStreams = 3;
  const size_t wanted = run_.place.tp_overlap ? 1 + kOverlapStreams : 1;
  while (te_gemm_.size() < wanted) {
    te_gemm_.push_back(memory_.allocate(te_workspace_bytes(), "workspace/TransformerEngine GEMM"));
  }
}

void Caches::te_grouped_gemm() {
  constexpr size_t kStreams = 4;
  while (te_grouped_gemm_.size() < kStreams) {
    te_grouped_gemm_.push_back(
        memory_.allocate(te_workspace_bytes(), "workspace/TransformerEngine grouped GEMM"));
  }
}

void Caches::global_buffer(int64_t bytes) {
  if (global_buffer_ != nullptr && global_buffer_->bytes() >= bytes) return;
  global_buffer_.reset();
  global_buffer_ = memory_.allocate(bytes, "workspace/global buffer");
}

void Caches::weight_gradients(WeightShape shape, int64_t count) {
  const int64_t bytes = shape.elements() * element_bytes(run_);
  // The containers of old recordings of the long-term-support branch had no stand-ins.
  const bool real = !run_.numerics.gradient_fusion || (run_.place.old_recording && run_.place.lts);
  if (real) {
    std::vector<Storage> gradients;
    for (int64_t i = 0; i < count; ++i) {
      gradients.push_back(memory_.allocate(bytes, "gradient/weights"));
    }
    return;
  }
  Storage& stand_in = stand_ins_[shape];
  if (stand_in == nullptr) stand_in = memory_.allocate(bytes, "workspace/weight gradient stand-in");
}

}  // namespace refrain::mcore::memory
