// Measures what this machine does in a second, so that plans are priced with its own rates.
#pragma once

#include "config/run_options.h"
#include "cost/program/machine_rates.h"
#include "train/data/windows.h"

namespace refrain::train {

/// Runs `options.rounds` training steps without recompute and divides the work of every step of the
/// Program by the median of its times, kind by kind; what any step takes at least is the cost of
/// starting one. Needs a quiet machine.
cost::MachineRates calibrate(const config::CalibrateOptions& options, const Windows& windows);

}  // namespace refrain::train
