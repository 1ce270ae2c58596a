// Linears, norms, and the gathers and scatters of sequence parallel around them.
#pragma once

#include <string_view>

#include "mcore/memory/ops/pass.h"

namespace refrain::mcore::memory {

/// One weight as this rank holds it. `name` must outlive the run: a literal. Where GEMMs read
/// low-precision copies, a linear keeps such a copy of its input for the weight gradient, unless
/// `keeps_original`: then it keeps the tensor, which is there for another op anyway.
struct Linear {
  std::string_view name;
  int64_t in = 0, out = 0;
  bool keeps_original = false;
};

/// LayerNorm or RMSNorm over `rows` rows: keeps its input and one float32 statistic a row
/// (LayerNorm two).
Tensor norm(Pass& pass, const Tensor& x, int64_t rows, std::string_view name);

/// A column-parallel linear. With sequence parallel its input is gathered for the GEMM, and again
/// for the weight gradient; what is kept is the part.
Tensor column_linear(Pass& pass, const Tensor& x, const Linear& linear);

/// A norm and the column-parallel linear behind it as TransformerEngine's LayerNormLinear: one
/// node, so the norm's output stays until the norm's backward is done. The local spec, whose two
/// modules follow each other, does the same but for that.
Tensor norm_and_linear(Pass& pass, const Tensor& x, const Linear& linear);

/// A row-parallel linear. With sequence parallel its output is scattered along the sequence.
Tensor row_linear(Pass& pass, const Tensor& x, const Linear& linear);

/// A linear whose weight every tensor rank holds whole; `x` stays as it is split.
Tensor whole_linear(Pass& pass, const Tensor& x, const Linear& linear);

}  // namespace refrain::mcore::memory
