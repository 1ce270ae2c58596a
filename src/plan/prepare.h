// From a setting to a step that is ready to be run, priced or printed.
#pragma once

#include "config/model_config.h"
#include "config/recompute_setting.h"
#include "config/run_shape.h"
#include "ledger/ledger.h"
#include "model/graph.h"
#include "program/lower.h"
#include "program/program.h"

namespace refrain::plan {

/// One training step of a model under one recompute setting.
struct PreparedStep {
  model::ModelGraph graph;
  program::Program program;
  ledger::Timeline timeline;
};

/// The schedule of one optimizer step.
program::Schedule schedule_of(const config::RunShape& shape);

/// Builds, plans, lowers, verifies (RC_CHECK) and simulates. `config` and `shape` have passed
/// config::validate.
PreparedStep prepare(const config::ModelConfig& config, const config::RunShape& shape,
                     const config::RecomputeSetting& setting, config::ReplayPolicy policy);
/// The same under a plan of its own; the plan was made for this model and shape.
PreparedStep prepare(const config::ModelConfig& config, const config::RunShape& shape,
                     const program::RecomputePlan& plan);

}  // namespace refrain::plan
