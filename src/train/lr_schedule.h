// The learning rate over a run: linear warm-up, then half a cosine.
#pragma once

#include <cstdint>

#include "config/run_options.h"

namespace refrain::train {

/// The rate of the update that completes step u, 1-based (u = steps completed before it + 1), with
/// W = warmup_steps and T = decay_steps:
///
///   u <= W:      lr u / W                          the first update moves, update W has all of lr
///   W < u < T:   min_lr + (lr - min_lr) (1 + cos(pi (u - W) / (T - W))) / 2
///   u >= T:      min_lr                            where W < T
///
/// The cosine is Loshchilov and Hutter's, "SGDR" (2017), equation 5, without restarts. Depends on u
/// alone. RC_CHECKs u >= 1 and W <= T; the options have passed config::validate.
double learning_rate(const config::OptimizerOptions& options, int64_t u);

}  // namespace refrain::train
