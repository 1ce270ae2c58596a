#include "train/lr_schedule.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace refrain::train {

double learning_rate(const config::OptimizerOptions& options, int64_t u) {
  const int64_t warmup = options.warmup_steps;
  const int64_t decay = options.decay_steps;
  RC_CHECK(u >= 1 && warmup <= decay, "u {}, warm-up {}, decay {}", u, warmup, decay);
  if (u <= warmup) return options.lr * (static_cast<double>(u) / static_cast<double>(warmup));
  if (u >= decay) return options.min_lr;
  const double progress = static_cast<double>(u - warmup) / static_cast<double>(decay - warmup);
  return options.min_lr +
         (options.lr - options.min_lr) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

}  // namespace refrain::train
