#include "cli/plan/explain_plan.h"

#include <fmt/format.h>

#include "cli/plan/plan_view.h"
#include "cli/spine.h"
#include "config/word.h"
#include "plan/plan_file.h"

namespace refrain::cli {
namespace {

/// The plan carried out again, priced with the rates that are built in.
struct Explained {
  plan::SavedPlan saved;
  plan::PreparedStep step;
  cost::Timing timing;
};

Explained explained(plan::SavedPlan saved) {
  const plan::Planner planner({saved.model, saved.shape, cost::default_rates()});
  for (plan::LayerDecision& layer : saved.layers) layer.reasons = planner.reasons_of(layer);
  plan::PreparedStep step = plan::prepare(saved.model, saved.shape, saved.recompute);
  const cost::Timing timing = cost::price(step.graph, step.program, cost::default_rates());
  return {std::move(saved), std::move(step), timing};
}

/// What the file says and is not so here.
Findings differences(const Explained& plan) {
  Findings notes;
  const Bytes peak = plan.step.timeline.peak;
  if (plan.saved.peak != peak) {
    notes.push_back({"plan.other-peak",
                     fmt::format("peak_bytes must be what the plan holds, {}: {}", peak.count(),
                                 plan.saved.peak.count()),
                     "make the plan again: refrain plan --save FILE", Severity::kNote});
  }
  const std::string rates = cost::default_rates().name;
  if (plan.saved.rates != rates) {
    notes.push_back({"plan.other-rates",
                     fmt::format("seconds are those of the rates that are built in, {}: the plan "
                                 "was made with {}",
                                 rates, config::as_word(plan.saved.rates)),
                     "see refrain plan --rates FILE --why for those", Severity::kNote});
  }
  return notes;
}

std::string to_text(const Explained& plan) {
  const config::ModelConfig& model = plan.saved.model;
  const config::RunShape& shape = plan.saved.shape;
  const Bytes peak = plan.step.timeline.peak;
  const double replay_s = plan.timing.replay_s, step_s = plan.timing.total_s();
  const size_t at = plan.step.timeline.peak_step;
  return fmt::format(
      "a plan for {}: {} layers, hidden {}, {} heads\n"
      "{} sequences of {} tokens, {} micro-batch{} a step, {}, {} attention, dropout {}\n"
      "peak {} ({} bytes) in {}\n"
      "step {:.3g} s, of which recompute {:.3g} s (+{:.1f} %)\n\n{}{}",
      config::as_word(model.name), model.num_layers, model.hidden, model.num_heads,
      shape.micro_batch, shape.seq, shape.num_micro_batches,
      shape.num_micro_batches == 1 ? "" : "es", config::to_text(shape.precision),
      config::to_text(shape.attention), shape.dropout, to_text(peak), peak.count(),
      program::describe(plan.step.graph, plan.step.program, plan.step.program.steps[at]), step_s,
      replay_s, 100 * replay_s / (step_s - replay_s), decisions_table(plan.saved.layers),
      activations_text(plan.saved.layers));
}

}  // namespace

bool names_plan_file(const std::vector<std::string>& arguments) {
  return arguments.size() == 1 && arguments[0].ends_with(".json");
}

int explain_plan(const std::string& path) {
  auto saved = plan::read_saved_plan_file(path);
  if (!saved.value) return tell(saved.findings), kExitFindings;
  const Explained plan = explained(*std::move(saved.value));
  tell(differences(plan));
  return print(to_text(plan)), kExitOk;
}

}  // namespace refrain::cli
