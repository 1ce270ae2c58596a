#include "plan/choose.h"

#include <fmt/format.h>

#include "plan/plan_file.h"

namespace refrain::plan {

Checked<cost::MachineRates> rates_of(const std::string& path) {
  if (path.empty()) return Checked<cost::MachineRates>::accept(cost::default_rates());
  return cost::read_rates(path);
}

Findings with_levers(Findings findings, const Planner& planner) {
  for (const Lever& lever : planner.levers()) {
    findings.push_back({"plan.lever",
                        fmt::format("with {} the leanest plan holds {} ({} bytes)", lever.change,
                                    to_text(lever.least_peak), lever.least_peak.count()),
                        fmt::format("a step of it would take {:.3g} s", lever.step_s),
                        Severity::kNote});
  }
  return findings;
}

Checked<EnginePlan> plan_for_budget(const config::ModelConfig& model, const config::RunShape& shape,
                                    const config::PlanOptions& options) {
  const auto rates = rates_of(options.rates);
  if (!rates.value) return Checked<EnginePlan>::reject(rates.findings);
  const Planner planner({model, shape, *rates.value});
  auto plan = planner.plan(*options.budget);
  if (!plan.value) plan.findings = with_levers(std::move(plan.findings), planner);
  return plan;
}

Checked<PreparedStep> choose_step(const config::TrainOptions& options) {
  const config::ModelConfig& model = options.model;
  const config::RunShape& shape = options.shape;
  if (!options.plan.file.empty()) {
    auto read = read_plan_file(options.plan.file, model, shape);
    if (!read.value) return Checked<PreparedStep>::reject(std::move(read.findings));
    return Checked<PreparedStep>::accept(prepare(model, shape, *read.value));
  }
  if (!options.plan.budget) {
    return Checked<PreparedStep>::accept(prepare(model, shape, options.recompute, options.replay));
  }
  auto plan = plan_for_budget(model, shape, options.plan);
  if (!plan.value) return Checked<PreparedStep>::reject(std::move(plan.findings));
  return Checked<PreparedStep>::accept(std::move(plan.value->step));
}

}  // namespace refrain::plan
