#include "train/lr_schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace refrain::train {

Findings validate(const LrSchedule& schedule) {
  const auto& [lr, min_lr, warmup_steps, total_steps] = schedule;
  Findings findings;
  // Written so that a NaN breaks it.
  if (!(std::isfinite(lr) && lr > 0 && min_lr >= 0 && min_lr <= lr)) {
    findings.push_back(
        {"lr.rates",
         fmt::format("0 <= min_lr <= lr and 0 < lr must hold: lr {}, min_lr {}", lr, min_lr),
         "give a positive --lr and a --min-lr that is not above it"});
  }
  if (!(total_steps >= 1 && warmup_steps >= 0 && warmup_steps <= total_steps)) {
    findings.push_back({"lr.steps",
                        fmt::format("0 <= warm-up steps <= steps and 1 <= steps must hold: {} "
                                    "warm-up steps, {} steps",
                                    warmup_steps, total_steps),
                        "lower --warmup-steps, or raise --steps"});
  }
  return findings;
}

double learning_rate(const LrSchedule& schedule, int64_t u) {
  RC_CHECK(u >= 1 && validate(schedule).empty(), "u {}, {}", u, to_text(validate(schedule)));
  const auto& [lr, min_lr, warmup_steps, total_steps] = schedule;
  if (u <= warmup_steps) {
    return lr * (static_cast<double>(u) / static_cast<double>(warmup_steps));
  }
  if (u >= total_steps) return min_lr;
  const double progress =
      static_cast<double>(u - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
  return min_lr + (lr - min_lr) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

}  // namespace refrain::train
