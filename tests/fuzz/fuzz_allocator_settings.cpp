// Any bytes as PYTORCH_ALLOC_CONF: refused, or settings under which sizes are what blocks and
// segments need.
#include <string_view>

#include "allocator/settings.h"
#include "base/error.h"
#include "findings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace refrain;
  using namespace refrain::allocator;
  const auto read = parse_settings({reinterpret_cast<const char*>(data), size});
  fuzz::hold(read, size);
  if (!read.value) return 0;
  const Settings& settings = *read.value;
  RC_CHECK(settings.large_segment > kPackedLimit, "{}", settings.large_segment.count());
  RC_CHECK(settings.max_split.value_or(settings.large_segment) >= settings.large_segment, "{}",
           settings.max_split->count());
  RC_CHECK(settings.process_fraction >= 0 && settings.process_fraction <= 1, "{}",
           settings.process_fraction);
  constexpr Bytes kMost{int64_t{1} << 55};  // more divisions than bytes leave odd sizes beyond
  for (int power = 0; power < 60; ++power) {
    for (const int64_t beside : {-1, 0, 1}) {
      const Bytes requested((int64_t{1} << power) + beside);
      if (requested <= Bytes()) continue;
      const Bytes block = block_bytes(requested, settings);
      const bool whole_steps = block.count() % kBlockStep.count() == 0;
      RC_CHECK(block >= requested && (whole_steps || requested > kMost), "{} for {} B",
               block.count(), requested.count());
      RC_CHECK(block <= 2 * requested || block == kBlockStep, "{} for {} B", block.count(),
               requested.count());
      const Bytes segment = segment_bytes(block, settings);
      RC_CHECK(segment >= block, "{} for {} B", segment.count(), block.count());
    }
  }
  return 0;
}
