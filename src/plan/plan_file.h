// A plan on disk: JSON that names its model, its shape and, for every layer, what is recomputed.
#pragma once

#include <string>
#include <string_view>

#include "plan/planner.h"

namespace refrain::plan {

/// One text for one plan; read_plan reads it back.
std::string write_plan(const Workload& workload, const EnginePlan& plan);

/// The actions of a plan file for this model and shape. Findings, all of them at once:
/// `plan.unreadable`, `plan.other-format`, `plan.other-model` and `plan.other-shape` (the fields
/// that differ), `plan.layers` (each layer must be named once), `plan.unknown-activation` (with the
/// nearest).
Checked<program::RecomputePlan> read_plan(std::string_view text, const config::ModelConfig& model,
                                          const config::RunShape& shape);

/// A plan file by itself: the run that it names, its layers without reasons, its actions.
struct SavedPlan {
  config::ModelConfig model;
  config::RunShape shape;
  std::string rates;  // what the seconds were priced with, by name
  Bytes peak;         // as the file says
  std::vector<LayerDecision> layers;
  program::RecomputePlan recompute;
};

/// Findings: those of read_plan, `plan.run` (run_fields.h), and those of config::validate.
Checked<SavedPlan> read_saved_plan(std::string_view text);

/// read_saved_plan of a file; `plan.no-file` where it cannot be read.
Checked<SavedPlan> read_saved_plan_file(const std::string& path);

/// read_plan of a file; `plan.no-file` where it cannot be read.
Checked<program::RecomputePlan> read_plan_file(const std::string& path,
                                               const config::ModelConfig& model,
                                               const config::RunShape& shape);

}  // namespace refrain::plan
