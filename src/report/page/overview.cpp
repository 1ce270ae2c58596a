// The top of the page: what the plan is for, and what it comes to.
#include <fmt/format.h>

#include "report/page/sections.h"
#include "report/page/wording.h"

namespace refrain::report {
namespace {

std::string fit_sentence(const PlanPage& page) {
  const std::string without = to_text(page.without.peak);
  if (page.plan.cost.replay_s == 0) {
    return fmt::format("The whole step fits {}: nothing needs to be recomputed.",
                       to_text(page.plan.budget));
  }
  return fmt::format(
      "{} {}, where it would hold {} without recompute, and takes {:.1f} % longer for it.",
      page.leanest ? "No budget was given, so this is the leanest plan: a training step holds"
                   : "A training step fits into",
      to_text(page.plan.budget), without, 100 * overhead_of(page.plan.cost));
}

std::string nearest_sentence(const PlanPage& page) {
  const SettingCost* nearest = nearest_setting(page);
  if (!nearest) return "No setting that Megatron can express fits.";
  return fmt::format("The fastest setting of Megatron that fits, {}, takes {} ({}).", nearest->name,
                     overhead_text(nearest->cost), time_text(nearest->cost.step_s));
}

Html tile(std::string_view name, const Html& value, const std::string& detail) {
  return Html::element("div", {{"class", "tile"}},
                       {Html::element("dt", {}, Html::text(name)),
                        Html::element("dd", {},
                                      {Html::element("strong", {}, value),
                                       Html::element("small", {}, Html::text(detail))})});
}

Html budget_tile(const PlanPage& page) {
  return tile("Budget", bytes_data(page.plan.budget),
              page.leanest ? "none given: the least that any plan needs"
                           : fmt::format("the leanest plan needs {}", to_text(page.least_peak)));
}

Html peak_tile(const PlanPage& page) {
  const Bytes peak = page.plan.cost.peak;
  return tile("Peak", bytes_data(peak),
              fmt::format("{} bytes, {} below the budget", grouped(peak.count()),
                          to_text(page.plan.budget - peak)));
}

Html time_tile(const PlanPage& page) {
  const StepCost& cost = page.plan.cost;
  return tile("Recompute time", overhead_data(cost),
              fmt::format("{} of a step of {}", time_text(cost.replay_s), time_text(cost.step_s)));
}

Html proof_tile(const PlanPage& page) {
  const double gap = page.plan.gap;
  const std::string shown = gap == 0 ? "0 %" : fmt::format("{:.2f} %", 100 * gap);
  return tile("Proven gap",
              Html::element("data", {{"value", fmt::format("{}", gap)}}, Html::text(shown)),
              fmt::format("{}; {} choices of a layer measured, {} not dominated", gap_text(gap),
                          grouped(page.examined), grouped(page.frontier)));
}

Html run_facts(const PlanPage& page) {
  Html facts;
  for (const Fact& fact : page.run) {
    facts += Html::element("div", {},
                           {Html::element("dt", {}, Html::text(fact.name)),
                            Html::element("dd", {}, Html::text(fact.value))});
  }
  return Html::element("dl", {{"class", "run"}}, facts);
}

}  // namespace

Html overview(const PlanPage& page) {
  return Html::element(
      "header", {},
      {Html::element("p", {{"class", "kicker"}}, Html::text("Recompute plan")),
       Html::element("h1", {}, Html::element("bdi", {}, Html::text(page.model))),
       Html::element("p", {{"class", "lead"}},
                     Html::text(fit_sentence(page) + " " + nearest_sentence(page))),
       Html::element("dl", {{"class", "tiles"}},
                     {budget_tile(page), peak_tile(page), time_tile(page), proof_tile(page)}),
       run_facts(page)});
}

}  // namespace refrain::report
