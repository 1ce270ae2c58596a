// Ops that several kinds of layers have.
#pragma once

#include <string_view>

#include "cost/ops/op.h"
#include "cost/shape/rank_shape.h"
#include "mcore/run.h"

namespace refrain::cost {

// Host units, in launches with their framework work: of a module of its own, and of a kernel that
// the module before it launches.
inline constexpr HostUnits kGemmUnits = {6, 9};
inline constexpr HostUnits kModuleUnits = {6, 6};
inline constexpr HostUnits kKernelUnits = {1.5, 2};
inline constexpr HostUnits kLinkUnits = {3, 3};

/// Appends ops of one scope; what does not exist in this run is not appended.
class OpList {
 public:
  OpList(const mcore::Run& run, std::string_view scope);

  const RankShape& shape() const { return shape_; }
  void add(Op op);  // into the list's scope, unless it names another
  void append(const Ops& ops);

  void norm(HostUnits host, LabelSet labels, double tokens);
  void gemm(std::string_view name, Gemm gemm, LabelSet labels = {}, bool tail = false);
  /// Nothing where tensor parallelism does not split.
  void gather(LabelSet labels = {});
  void scatter(LabelSet labels = {}, bool tail = false);
  void residual(double tokens);
  /// Attention over what was projected; `flops` under the layer's mask.
  void core_attention(double flops, double unmasked_flops);

  Ops take() { return std::move(ops_); }

 private:
  const mcore::Run& run_;
  RankShape shape_;
  std::string_view scope_;
  Ops ops_;
};

}  // namespace refrain::cost
