#include "cost/shape/rank_shape.h"

#include <algorithm>

namespace refrain::cost {

RankShape rank_shape(const mcore::Run& run) {
  const double t = static_cast<double>(run.parallel.tensor);
  const double tokens = static_cast<double>(run.batch.seq * run.batch.micro) /
                        static_cast<double>(run.parallel.context);
  return {.split = t,
          .tokens = tokens,
          .sequence_tokens = run.parallel.sequence ? tokens / t : tokens,
          .split_tokens = tokens / t,
          .gather_bytes = 2 * tokens * static_cast<double>(run.model.hidden) * (t - 1) / t};
}

double mean_visible(const mcore::Run& run, const mcore::LayerKind& kind) {
  const auto seq = static_cast<double>(run.batch.seq);
  if (run.model.family == mcore::Family::kBert) return seq;  // no causal mask
  if (!kind.windowed || run.model.attention.window == 0) return seq / 2;
  const double window = std::min(seq, static_cast<double>(run.model.attention.window));
  return window - window * window / (2 * seq);
}

}  // namespace refrain::cost
