// Which kernels an op kind has.
#include "base/error.h"
#include "engine/kernels/kernel_list.h"

namespace refrain::engine {
namespace {

struct Row {
  model::OpKind kind;
  Kernel fused, plain;

  Row(model::OpKind op_kind, Kernel (*kernel)(KernelSet))
      : kind(op_kind), fused(kernel(KernelSet::kFused)), plain(kernel(KernelSet::kPlain)) {}
};

}  // namespace

const Kernel& kernel_of(model::OpKind kind, KernelSet set) {
  static const Row rows[] = {
      {model::OpKind::kEmbedding, embedding_kernel},
      {model::OpKind::kNorm, norm_kernel},
      {model::OpKind::kLinear, linear_kernel},
      {model::OpKind::kRope, rope_kernel},
      {model::OpKind::kAttention, attention_kernel},
      {model::OpKind::kAttentionScores, attention_scores_kernel},
      {model::OpKind::kSoftmax, softmax_kernel},
      {model::OpKind::kAttentionContext, attention_context_kernel},
      {model::OpKind::kActivation, activation_kernel},
      {model::OpKind::kAdd, add_kernel},
      {model::OpKind::kDropout, dropout_kernel},
  };
  for (const Row& row : rows) {
    if (row.kind == kind) return set == KernelSet::kFused ? row.fused : row.plain;
  }
  RC_CHECK(false, "{} has no kernels", model::to_text(kind));
}

}  // namespace refrain::engine
