// The learning rate over a run: linear warm-up, then half a cosine.
#pragma once

#include <cstdint>

#include "base/finding.h"

namespace refrain::train {

struct LrSchedule {
  double lr = 3e-4;      // at the end of warm-up
  double min_lr = 3e-5;  // from the last step on
  int64_t warmup_steps = 0;
  int64_t total_steps = 1;
};

/// What must hold: 0 <= min_lr <= lr, lr > 0, 0 <= warmup_steps <= total_steps, total_steps >= 1.
/// Findings lr.rates and lr.steps.
Findings validate(const LrSchedule& schedule);

/// The rate of the update that completes step u, 1-based (u = steps completed before it + 1), with
/// W = warmup_steps and T = total_steps:
///
///   u <= W:      lr u / W                          the first update moves, update W has all of lr
///   W < u < T:   min_lr + (lr - min_lr) (1 + cos(pi (u - W) / (T - W))) / 2
///   u >= T:      min_lr                            where W < T
///
/// The cosine is Loshchilov and Hutter's, "SGDR" (2017), equation 5, without restarts. Depends on u
/// alone. RC_CHECKs u >= 1 and a valid schedule.
double learning_rate(const LrSchedule& schedule, int64_t u);

}  // namespace refrain::train
