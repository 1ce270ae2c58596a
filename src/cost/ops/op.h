// An op of a layer as its price sees it: what it computes, moves or sends on one rank for one
// micro-batch, how much host work it is, and which recompute labels name it.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "cost/ops/labels.h"

namespace refrain::cost {

/// Host work in units of about one kernel launch with its framework work.
struct HostUnits {
  double forward = 0, backward = 0;
};

/// (m x k) times (k x n), `groups` times with different weights; forward's shape. Backward is the
/// product for the input's gradient and, where weights are trained, the one for theirs.
struct Gemm {
  double m = 0, n = 0, k = 0;
  double groups = 1;
};

/// Forward's FLOPs of scores and weighted sum; backward has 2.5 times as many (five products of
/// which one repeats forward's: arXiv:2307.08691, section 3.1).
struct Attention {
  double flops = 0;
};

/// Element-wise kernels, norms, copies: bytes read and written.
struct MemoryTraffic {
  double forward = 0, backward = 0;
};

/// The same around an expert dispatch, where the dispatcher decides how well it is fused.
struct Permute {
  double forward = 0, backward = 0;
};

/// A state-space scan with its convolution (Mamba): bytes of one pass over its inputs and outputs.
struct Scan {
  double forward = 0, backward = 0;
};

/// A chunked linear-attention rule: small products between passes over memory.
struct ChunkedRule {
  MemoryTraffic bytes;
  MemoryTraffic flops;
};

/// Between tensor-parallel ranks. A gather is repeated in backward under sequence parallelism: the
/// gathered input was not kept (core/tensor_parallel/layers.py).
struct TensorLink {
  double bytes = 0;
  bool gathers = false;
};

/// Between context-parallel ranks; `exposed` is the share that does not run behind attention.
struct ContextLink {
  double bytes = 0;
  double exposed = 1;
};

/// One direction between expert-parallel ranks: tokens of this rank, and their width in elements.
struct ExpertLink {
  double tokens = 0, width = 0;
};

using OpWork = std::variant<Gemm, Attention, MemoryTraffic, Permute, Scan, ChunkedRule, TensorLink,
                            ContextLink, ExpertLink>;

/// CUDA-graph scopes of Megatron-Core (core/transformer/transformer_config.py, cuda_graph_scope).
namespace scope {
inline constexpr std::string_view kAttention = "attn", kMlp = "mlp", kMoe = "moe",
                                  kMoeRouter = "moe_router", kMoePreprocess = "moe_preprocess",
                                  kMamba = "mamba";
}  // namespace scope

struct Op {
  std::string_view name;
  OpWork work;
  HostUnits host;
  std::string_view scope;
  LabelSet labels = {};
  /// Elements that the consumer casts once more where this op's output was discarded and its number
  /// format has fewer than 16 bits.
  double recast = 0;
  /// Backward reads neither the output nor anything later in the layer that is made of it.
  bool tail = false;
};

using Ops = std::vector<Op>;

}  // namespace refrain::cost
