#include "mcore/memory/tape/sizes.h"

namespace refrain::mcore::memory {

bool splits_sequence(const Run& run) { return run.parallel.sequence && run.parallel.tensor > 1; }

int64_t element_bytes(const Run& run) { return run.numerics.params == Precision::kF32 ? 4 : 2; }

Sizes sizes_of(const Run& run, int64_t sequence) {
  Sizes sizes;
  sizes.element = element_bytes(run);
  sizes.sequence = sequence / run.parallel.context;
  sizes.tokens = sizes.sequence * run.batch.micro;
  sizes.region_tokens = splits_sequence(run) ? sizes.tokens / run.parallel.tensor : sizes.tokens;
  sizes.hidden = sizes.region_tokens * run.model.hidden * sizes.element;
  sizes.gathered = sizes.tokens * run.model.hidden * sizes.element;
  return sizes;
}

int64_t low_precision_bytes(LowPrecision format, int64_t elements) {
  switch (format) {
    case LowPrecision::kNone:
      return 0;
    case LowPrecision::kFp8Delayed:
    case LowPrecision::kFp8Current:
      return elements;
    case LowPrecision::kFp8Blockwise:
      return elements + elements / 128 * 4;
    case LowPrecision::kMxfp8:
      return elements + elements / 32;
    case LowPrecision::kNvfp4:
      return elements / 2 + elements / 16;
  }
  return 0;
}

bool quantizes(const Run& run) {
  return run.numerics.gemms != LowPrecision::kNone && run.place.transformer_engine;
}

}  // namespace refrain::mcore::memory
