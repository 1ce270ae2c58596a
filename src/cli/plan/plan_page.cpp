#include "cli/plan/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "base/error.h"
#include "cli/plan/timeline_ranges.h"
#include "report/page/wording.h"

namespace refrain::cli {
namespace {

using report::BudgetPlan;
using report::StepCost;

constexpr int kCurveBudgets = 40;

StepCost cost_of(Bytes peak, const cost::Timing& timing) {
  return {.peak = peak, .replay_s = timing.replay_s, .step_s = timing.total_s()};
}

BudgetPlan budget_plan(Bytes budget, const plan::EnginePlan& plan) {
  return {.budget = budget, .cost = cost_of(plan.step.timeline.peak, plan.timing), .gap = plan.gap};
}

StepCost without_recompute(const PlanView& view) {
  for (const plan::StandardStep& step : view.standards) {
    if (step.setting == config::RecomputeSetting()) return cost_of(step.peak, step.timing);
  }
  RC_CHECK(false, "no setting without recompute among {}", view.standards.size());
  return {};
}

/// Budgets at equal distances from the leanest plan to the peak without recompute.
std::vector<Bytes> curve_budgets(Bytes least, Bytes most) {
  const auto span = static_cast<double>(std::max(Bytes(), most - least).count());
  std::vector<Bytes> budgets;
  for (int i = 0; i < kCurveBudgets; ++i) {
    budgets.push_back(least + Bytes(static_cast<int64_t>(span * i / (kCurveBudgets - 1))));
  }
  return budgets;
}

/// The plan of each budget, solved by several threads. Of neighbours with one plan the least budget
/// stays.
std::vector<BudgetPlan> curve(const plan::Planner& planner, Bytes most) {
  const std::vector<Bytes> budgets = curve_budgets(planner.least_peak(), most);
  std::vector<BudgetPlan> plans(budgets.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < budgets.size();) {
      const auto plan = planner.plan(budgets[i]);
      RC_CHECK(plan.value, "no plan inside {}", budgets[i].count());
      plans[i] = budget_plan(budgets[i], *plan.value);
    }
  };
  std::vector<std::future<void>> workers(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
  for (auto& worker : workers) worker = std::async(std::launch::async, work);
  for (auto& worker : workers) worker.get();
  const auto same_plan = [](const BudgetPlan& a, const BudgetPlan& b) {
    return a.cost.peak == b.cost.peak;
  };
  plans.erase(std::unique(plans.begin(), plans.end(), same_plan), plans.end());
  return plans;
}

std::vector<report::SettingCost> settings_of(const PlanView& view) {
  const plan::StandardStep* nearest = plan::fastest_inside(view.standards, view.budget, true);
  std::vector<report::SettingCost> settings;
  for (const plan::StandardStep& step : view.standards) {
    settings.push_back({.name = to_text(step.setting),
                        .cost = cost_of(step.peak, step.timing),
                        .common = is_common(step.setting, view.workload.model.num_layers),
                        .nearest = &step == nearest});
  }
  return settings;
}

std::vector<report::LayerGroup> layers_of(const PlanView& view) {
  std::vector<report::LayerGroup> groups;
  for (const plan::LayerDecision& decision : view.plan.decisions) {
    report::LayerGroup group{.first = decision.first, .last = decision.last, .run = decision.run};
    for (const plan::Reason& reason : decision.reasons) {
      group.activations.push_back(
          {reason.activation, reason.freed, reason.replay_s, reason.recomputed});
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<report::Fact> run_facts(const PlanView& view) {
  const config::ModelConfig& model = view.workload.model;
  const config::RunShape& shape = view.workload.shape;
  const cost::MachineRates& rates = view.workload.rates;
  return {
      {"layers", fmt::format("{}", model.num_layers)},
      {"hidden", fmt::format("{}", model.hidden)},
      {"parameters", report::grouped(model::num_trained(view.plan.step.program.params))},
      {"sequence", fmt::format("{}", shape.seq)},
      {"micro-batch", fmt::format("{}", shape.micro_batch)},
      {"global batch", fmt::format("{}", shape.micro_batch * shape.num_micro_batches)},
      {"dtype", std::string(to_text(shape.precision))},
      {"attention", std::string(to_text(shape.attention))},
      {"dropout", fmt::format("{}", shape.dropout)},
      {"clip", fmt::format("{}", shape.clip_grad)},
      {"threads", fmt::format("{}", shape.threads)},
      {"machine",
       rates.source.empty() ? rates.name : fmt::format("{}: {}", rates.name, rates.source)},
  };
}

}  // namespace

report::MemoryTimeline timeline_of(const plan::PreparedStep& step) {
  report::MemoryTimeline timeline{.peak_step = step.timeline.peak_step,
                                  .resident = ledger::total(step.timeline.residents),
                                  .passes = passes_of(step),
                                  .stretches = stretches_of(step)};
  for (int account = 0; account < program::kNumAccounts; ++account) {
    timeline.accounts.emplace_back(to_text(static_cast<program::Account>(account)));
  }
  for (size_t s = 0; s < step.program.steps.size(); ++s) {
    const ledger::Balances& during = step.timeline.entries[s].during;
    timeline.steps.push_back({.name = describe(step.graph, step.program, step.program.steps[s]),
                              .held = {during.begin(), during.end()}});
  }
  return timeline;
}

report::PlanPage plan_page_of(const PlanView& view, const plan::Planner& planner) {
  const StepCost without = without_recompute(view);
  return {.model = view.workload.model.name,
          .run = run_facts(view),
          .plan = budget_plan(view.budget, view.plan),
          .leanest = view.leanest,
          .least_peak = view.least_peak,
          .without = without,
          .byte_price_s = view.byte_price_s,
          .examined = view.plan.examined,
          .frontier = view.plan.frontier_size,
          .timeline = timeline_of(view.plan.step),
          .curve = curve(planner, without.peak),
          .settings = settings_of(view),
          .layers = layers_of(view)};
}

}  // namespace refrain::cli
