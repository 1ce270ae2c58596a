// How many tokens a rank sees of a micro-batch, and the bytes of the tensors that recur.
#pragma once

#include <cstdint>

#include "mcore/run.h"

namespace refrain::mcore::memory {

/// Bytes are before the allocator rounds. `hidden` and `gathered` are a hidden state inside and
/// outside of sequence-parallel regions; equal without sequence parallel.
struct Sizes {
  int64_t element = 2;        // bytes of an activation's element
  int64_t sequence = 0;       // tokens of a sequence on this context rank
  int64_t tokens = 0;         // of a micro-batch on this context rank
  int64_t region_tokens = 0;  // of a micro-batch in sequence-parallel regions
  int64_t hidden = 0;
  int64_t gathered = 0;

  /// Bytes of `features` for each token outside of sequence-parallel regions.
  int64_t rows(int64_t features) const { return tokens * features * element; }
};

/// `sequence`: tokens of a whole sequence, before context parallel cuts it.
Sizes sizes_of(const Run& run, int64_t sequence);

/// True where tensors between the tensor-parallel linears are split along the sequence.
bool splits_sequence(const Run& run);

/// Bytes of one element of weights and activations.
int64_t element_bytes(const Run& run);

/// Bytes of `elements` in the GEMMs' low-precision format, for one of the two directions a GEMM
/// reads them in, with their scales: one byte an element and, for blockwise FP8, four for each 128,
/// for MXFP8 one for each 32; NVFP4 half a byte and one for each 16 (TransformerEngine,
/// pytorch/tensor/*_tensor.py, make_empty).
int64_t low_precision_bytes(LowPrecision format, int64_t elements);

/// True where the layers' GEMMs read low-precision copies.
bool quantizes(const Run& run);

}  // namespace refrain::mcore::memory
