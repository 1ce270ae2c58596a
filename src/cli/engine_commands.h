// The subcommands of `refrain-engine`, the executable that links LibTorch.
#pragma once

#include "config/run_options.h"

namespace refrain::cli {

// `options` have passed config::validate. All return the exit code.
int engine_train(const config::TrainOptions& options);
int engine_bench(const config::BenchOptions& options);
int engine_calibrate(const config::CalibrateOptions& options);

}  // namespace refrain::cli
