// What both commands of the engine do before their first step.
#pragma once

#include "base/finding.h"
#include "config/model_config.h"
#include "config/run_options.h"
#include "train/data/windows.h"

namespace refrain::train {

/// Opens the text of a run (or the default corpus) and cuts it into windows of `seq`. Findings:
/// those of the corpus, and data.vocab where the model has fewer tokens than bytes.
Checked<Windows> open_windows(const config::DataOptions& data, const config::ModelConfig& model,
                              int64_t seq);

}  // namespace refrain::train
