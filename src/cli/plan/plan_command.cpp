// `refrain plan`: what to recompute under a memory budget, what each standard setting would give,
// and why.
#include "cli/commands.h"
#include "cli/megatron/megatron_options.h"
#include "cli/megatron/megatron_plan.h"
#include "cli/options.h"
#include "cli/plan/plan_page.h"
#include "cli/plan/plan_view.h"
#include "cli/spine.h"
#include "plan/choose.h"
#include "plan/plan_file.h"

namespace refrain::cli {

int plan_command(const std::vector<std::string>& arguments) {
  if (names_hardware(arguments)) return megatron_plan(arguments);
  const Parsed<config::EnginePlanOptions> parsed = parse_engine_plan(arguments);
  if (const auto code = answer(parsed)) return *code;
  const config::EnginePlanOptions& options = *parsed.options.value;
  const auto rates = plan::rates_of(options.plan.rates);
  if (!rates.value) return tell(rates.findings), kExitFindings;

  const plan::Workload workload = {options.model, options.shape, *rates.value};
  const plan::Planner planner(workload);
  const Bytes budget = options.plan.budget.value_or(planner.least_peak());
  auto chosen = planner.plan(budget, options.exact ? plan::Effort::exact() : plan::Effort());
  if (!chosen.value) {
    return tell(plan::with_levers(std::move(chosen.findings), planner)), kExitFindings;
  }
  const std::vector<plan::StandardStep> standards = plan::standard_steps(workload);
  // Plain text does without the price of a byte, which takes one more search.
  const bool prices = options.json || options.why || !options.html.empty();
  const PlanView view = {.workload = workload,
                         .plan = *chosen.value,
                         .budget = budget,
                         .least_peak = planner.least_peak(),
                         .standards = standards,
                         .leanest = !options.plan.budget,
                         .byte_price_s = prices ? planner.byte_price_s(budget, *chosen.value) : 0};
  tell(parsed.options.findings);
  print(options.json ? to_json(view) : to_text(view));
  if (options.why && !options.json) print(reasons_text(view));
  constexpr std::string_view kDoing = "writing the plan";
  if (!options.html.empty()) {
    save(kDoing, options.html, report::to_html(plan_page_of(view, planner)));
  }
  if (!options.save.empty()) save(kDoing, options.save, plan::write_plan(workload, *chosen.value));
  return kExitOk;
}

}  // namespace refrain::cli
