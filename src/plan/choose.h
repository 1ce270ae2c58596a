// The training step that a command's options ask for: under a setting, a plan file or a budget.
#pragma once

#include "config/run_options.h"
#include "plan/planner.h"

namespace refrain::plan {

/// The rates to price with: those of the file, or the default ones where the path is empty.
Checked<cost::MachineRates> rates_of(const std::string& path);

/// The plan of `options.budget`, which is there. Findings: those of the rates, or
/// `plan.budget-too-small` with what else could be changed.
Checked<EnginePlan> plan_for_budget(const config::ModelConfig& model, const config::RunShape& shape,
                                    const config::PlanOptions& options);

/// What a training run carries out. Findings: those of plan_for_budget or of the plan file.
Checked<PreparedStep> choose_step(const config::TrainOptions& options);

/// The finding of a budget that nothing fits into, with the levers that were tried.
Findings with_levers(Findings findings, const Planner& planner);

}  // namespace refrain::plan
