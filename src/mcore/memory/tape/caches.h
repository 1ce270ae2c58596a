// Memory that is allocated at first use and never given back: workspaces of GEMM libraries, the
// buffer that gathered sequences go to, and TransformerEngine's stand-ins for weight gradients.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "mcore/memory/tape/offload_order.h"
#include "mcore/memory/tape/storage.h"
#include "mcore/run.h"

namespace refrain::mcore::memory {

/// Autograd runs backward on a thread of its own, with a cuBLAS handle of its own.
enum class Thread : uint8_t { kForward, kBackward };

struct WeightShape {
  int64_t rows = 0, columns = 0;

  int64_t elements() const { return rows * columns; }
  auto operator<=>(const WeightShape&) const = default;
};

class Caches {
 public:
  Caches(const Run& run, Memory& memory) : run_(run), memory_(memory) {}

  /// torch.matmul's workspace (PyTorch, aten/src/ATen/cuda/CUDABlas.cpp): 32 MiB or 8.125 MiB.
  void cublas(Thread thread);

  /// The workspace of a layer's linear: TransformerEngine's, or cuBLAS's with the local spec.
  void linear(Thread thread);

  /// TransformerEngine's GEMM workspace (pytorch/cpp_extensions/gemm.py): 32 MiB and 1 KiB from
  /// compute capability 9.0, else 4 MiB. Where GEMMs overlap with tensor-parallel communication,
  /// three more, one for each stream of the overlap.
  void te_gemm();

  /// Four workspaces, one for each stream of the grouped GEMM.
  void te_grouped_gemm();

  /// Megatron's GlobalMemoryBuffer "mpu" (core/utils.py): grown to the largest request.
  void global_buffer(int64_t bytes);

  /// The weight gradients that `count` linears of one shape hand to autograd. Where they accumulate
  /// in the GEMM, one stand-in for each shape is kept (TransformerEngine, pytorch/module/base.py,
  /// get_dummy_wgrad); else they are real and short-lived.
  void weight_gradients(WeightShape shape, int64_t count = 1);

  /// What offload remembers of the first step lives as long as the workspaces.
  OffloadOrder offload_order;

 private:
  int64_t te_workspace_bytes() const;

  const Run& run_;
  Memory& memory_;
  std::map<Thread, Storage> cublas_;
  std::vector<Storage> te_gemm_;
  std::vector<Storage> te_grouped_gemm_;
  Storage global_buffer_;
  std::map<WeightShape, Storage> stand_ins_;
};

}  // namespace refrain::mcore::memory
