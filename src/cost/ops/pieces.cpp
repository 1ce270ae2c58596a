#include "cost/ops/pieces.h"

#include <utility>

namespace refrain::cost {

OpList::OpList(const mcore::Run& run, std::string_view scope)
    : run_(run), shape_(rank_shape(run)), scope_(scope) {}

void OpList::add(Op op) {
  if (op.scope.empty()) op.scope = scope_;
  ops_.push_back(op);
}

void OpList::append(const Ops& ops) { ops_.insert(ops_.end(), ops.begin(), ops.end()); }

/// Forward reads the hidden state and writes it; backward reads it and the gradient, and writes
/// one.
void OpList::norm(HostUnits host, LabelSet labels, double tokens) {
  const double elements = tokens * static_cast<double>(run_.model.hidden);
  add({.name = "norm",
       .work = MemoryTraffic{4 * elements, 8 * elements},
       .host = host,
       .labels = labels,
       .recast = elements});
}

void OpList::gemm(std::string_view name, Gemm gemm, LabelSet labels, bool tail) {
  add({.name = name, .work = gemm, .host = kGemmUnits, .labels = labels, .tail = tail});
}

void OpList::gather(LabelSet labels) {
  if (!shape_.splits()) return;
  add({.name = "gather",
       .work = TensorLink{shape_.gather_bytes, true},
       .host = kLinkUnits,
       .labels = labels});
}

void OpList::scatter(LabelSet labels, bool tail) {
  if (!shape_.splits()) return;
  add({.name = "scatter",
       .work = TensorLink{shape_.gather_bytes, false},
       .host = kLinkUnits,
       .labels = labels,
       .tail = tail});
}

/// Reads two, writes one; dropout adds a byte of mask and, in backward, a pass over the gradient.
void OpList::residual(double tokens) {
  const bool drops = run_.model.hidden_dropout > 0;
  const double elements = tokens * static_cast<double>(run_.model.hidden);
  add({.name = "residual",
       .work = MemoryTraffic{(drops ? 7 : 6) * elements, (drops ? 6 : 4) * elements},
       .host = kKernelUnits,
       .tail = true});
}

void OpList::core_attention(double flops, double unmasked_flops) {
  const LabelSet labels = {Label::kCoreAttn};
  if (run_.place.attention != mcore::AttentionKernel::kUnfused) {
    return add(
        {.name = "core_attention", .work = Attention{flops}, .host = {8, 10}, .labels = labels});
  }
  // Unfused kernels compute and keep the whole score matrix, masked or not: 16-bit scores, mask,
  // softmax and dropout read and write it.
  add({.name = "core_attention",
       .work = Attention{unmasked_flops},
       .host = {10, 14},
       .labels = labels});
  const double scores = shape_.tokens * static_cast<double>(run_.batch.seq) *
                        static_cast<double>(run_.model.attention.num_heads) / shape_.split;
  add({.name = "scores",
       .work = MemoryTraffic{16 * scores, 20 * scores},
       .host = {4, 4},
       .labels = labels});
}

}  // namespace refrain::cost
