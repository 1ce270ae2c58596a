// What a budget buys: recompute time against peak, from the leanest plan to no recompute.
#include <fmt/format.h>

#include <algorithm>

#include "report/page/chart/scale.h"
#include "report/page/chart/steps.h"
#include "report/page/sections.h"
#include "report/page/wording.h"

namespace refrain::report {
namespace {

constexpr int kAxisTicks = 5;
constexpr int64_t kUnits = 10000;   // of the viewBox, both ways
constexpr double kMargin = 0.06;    // of the axis, beyond the outermost marks
constexpr double kLastTick = 0.95;  // of the axis: half of a label beyond it would leave the page

struct Axes {
  Scale bytes, overhead;

  double x(Bytes peak) const { return bytes.share(static_cast<double>(peak.count())); }
  double y(const StepCost& cost) const { return overhead.share(overhead_of(cost)); }
};

struct Mark {
  StepCost cost;
  std::string description;
  std::string class_name;
  std::string label;  // always seen; empty: none
};

std::string costs_text(const StepCost& cost) {
  return fmt::format("peak {}, recompute {}, step {}", to_text(cost.peak), overhead_text(cost),
                     time_text(cost.step_s));
}

std::vector<Mark> plan_marks(const PlanPage& page) {
  std::vector<Mark> marks;
  const auto add = [&](const BudgetPlan& plan, bool is_this) {
    marks.push_back({.cost = plan.cost,
                     .description = fmt::format(
                         "{} {}: {}, {}", is_this ? "This plan, budget" : "Budget",
                         to_text(plan.budget), costs_text(plan.cost), gap_text(plan.gap)),
                     .class_name = is_this ? "this" : "plan",
                     .label = is_this ? "this plan" : ""});
  };
  for (const BudgetPlan& plan : page.curve) {
    if (plan.cost.peak != page.plan.cost.peak) add(plan, false);
  }
  add(page.plan, true);
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.cost.peak < b.cost.peak; });
  return marks;
}

std::vector<Mark> setting_marks(const PlanPage& page) {
  const SettingCost* nearest = nearest_setting(page);
  std::vector<Mark> marks;
  for (const SettingCost& setting : page.settings) {
    const bool fits = setting.cost.peak <= page.plan.budget;
    const bool is_nearest = &setting == nearest;
    marks.push_back(
        {.cost = setting.cost,
         .description = fmt::format("{}: {}, {}", setting.name, costs_text(setting.cost),
                                    fits ? "fits" : "does not fit"),
         .class_name =
             fmt::format("setting {}{}", fits ? "fits" : "exceeds", is_nearest ? " nearest" : ""),
         .label = is_nearest ? setting.name : ""});
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.cost.peak < b.cost.peak; });
  return marks;
}

Axes axes_of(const std::vector<Mark>& plans, const std::vector<Mark>& settings) {
  double low = static_cast<double>(plans.front().cost.peak.count()), high = low, most = 0;
  for (const auto* marks : {&plans, &settings}) {
    for (const Mark& mark : *marks) {
      low = std::min(low, static_cast<double>(mark.cost.peak.count()));
      high = std::max(high, static_cast<double>(mark.cost.peak.count()));
      most = std::max(most, overhead_of(mark.cost));
    }
  }
  // Below the lowest mark stands the label of a plan that recomputes nothing.
  const double margin = kMargin * std::max(high - low, 0.01 * high);
  most = std::max(most, 0.01);
  return {.bytes = {low - margin, high + margin},
          .overhead = {-2 * kMargin * most, (1 + 2 * kMargin) * most}};
}

// A plan is there for every budget from its peak on, until a cheaper one is.
Html staircase(const Axes& axes, const std::vector<Mark>& plans) {
  const auto x = [&](const Mark& m) { return static_cast<int64_t>(kUnits * axes.x(m.cost.peak)); };
  const auto y = [&](const Mark& m) {
    return kUnits - static_cast<int64_t>(kUnits * axes.y(m.cost));
  };
  std::vector<StepPoint> points = {{x(plans.front()), 0}};
  for (const Mark& mark : plans) points.push_back({x(mark), y(mark)});
  const auto path = [&](const char* name, const std::string& data) {
    return Html::element("path", {{"class", name}, {"d", data}}, Html());
  };
  return Html::element("svg",
                       {{"viewBox", fmt::format("0 0 {0} {0}", kUnits)},
                        {"preserveAspectRatio", "none"},
                        {"aria-hidden", "true"}},
                       {path("attainable", step_area(points, kUnits, 0)),
                        path("frontier", step_line(points, kUnits))});
}

Html ticks(const Axes& axes) {
  Html ticks;
  for (const double tick : decimal_ticks(axes.overhead, kAxisTicks)) {
    if (tick < 0) continue;
    ticks += Html::element(
        "div", {{"class", "tick"}, {"style", css_percent("bottom", axes.overhead.share(tick))}},
        Html::element("span", {}, Html::text(fmt::format("+{:.6g} %", 100 * tick))));
  }
  for (const Bytes tick : byte_ticks(axes.bytes, kAxisTicks)) {
    if (axes.x(tick) > kLastTick) continue;
    ticks += Html::element("div",
                           {{"class", "tick-below"}, {"style", css_percent("left", axes.x(tick))}},
                           Html::element("span", {}, Html::text(tick_text(tick))));
  }
  return ticks;
}

Html budget_line(const Axes& axes, Bytes budget) {
  const double x = axes.x(budget);
  if (x > 1) return {};
  return Html::element("div",
                       {{"class", x > 0.5 ? "budget-upright left" : "budget-upright right"},
                        {"style", css_percent("left", x)}},
                       Html::element("span", {}, Html::text("budget " + to_text(budget))));
}

Html mark_list(const Axes& axes, const std::vector<Mark>& marks, const std::string& label) {
  Html list;
  for (const Mark& mark : marks) {
    const double x = axes.x(mark.cost.peak);
    Html button =
        Html::element("button", {{"type", "button"}, {"tabindex", "-1"}},
                      Html::element("span", {{"class", "unseen"}}, Html::text(mark.description)));
    if (!mark.label.empty()) {
      button += Html::element(
          "span",
          {{"class", mark.class_name == "this" && x > 0.15 ? "label below" : "label above"},
           {"aria-hidden", "true"}},
          Html::text(mark.label));
    }
    list += Html::element(
        "li",
        {{"class", mark.class_name},
         {"style", css_percent("left", x) + ";" + css_percent("bottom", axes.y(mark.cost))}},
        button);
  }
  return Html::element("ol", {{"class", "marks"}, {"aria-label", label}}, list);
}

Html key_entry(const std::string& class_name, std::string_view text) {
  return Html::element(
      "li", {},
      {Html::element("span", {{"class", "sample " + class_name}}, Html()), Html::text(text)});
}

Html key() {
  return Html::element("ul", {{"class", "key"}, {"aria-hidden", "true"}},
                       {key_entry("plan", "plans, one a budget"), key_entry("this", "this plan"),
                        key_entry("setting fits", "settings that fit the budget"),
                        key_entry("setting exceeds", "settings that do not")});
}

Html curve_table(const PlanPage& page) {
  Html head = heading_cell("budget", true);
  head += heading_cell("peak", true);
  head += heading_cell("recompute time", true);
  head += heading_cell("step", true);
  head += heading_cell("proof");
  Html rows;
  for (const BudgetPlan& plan : page.curve) {
    rows += Html::element(
        "tr", {},
        {number_cell(bytes_data(plan.budget)), number_cell(bytes_data(plan.cost.peak)),
         number_cell(overhead_data(plan.cost)), number_cell(time_data(plan.cost.step_s)),
         Html::element("td", {}, Html::text(gap_text(plan.gap)))});
  }
  return fold(
      "The plans as a table",
      table("The plan of each budget, from the leanest to no recompute", head, rows, "plans"));
}

}  // namespace

Html curve_section(const PlanPage& page) {
  const std::vector<Mark> plans = plan_marks(page), settings = setting_marks(page);
  const Axes axes = axes_of(plans, settings);
  Html plot = ticks(axes);
  plot += staircase(axes, plans);
  plot += budget_line(axes, page.plan.budget);
  plot += mark_list(axes, settings, "Settings of Megatron's vocabulary, by peak");
  plot += mark_list(axes, plans, "Plans, by peak");
  const auto chosen = std::find_if(plans.begin(), plans.end(),
                                   [](const Mark& mark) { return mark.class_name == "this"; });
  return Html::element(
      "section", {{"aria-labelledby", "curve-title"}},
      {Html::element("h2", {{"id", "curve-title"}}, Html::text("What a budget buys")),
       Html::element("p", {},
                     Html::text("Time that recompute adds to a step, against the peak that it "
                                "leaves: down and to the left is better. A plan serves every "
                                "budget from its peak on.")),
       Html::element("div", {{"class", "chart"}},
                     {key(),
                      Html::element("div", {{"class", "plots curve"}, {"id", "curve"}},
                                    Html::element("div", {{"class", "plot"}}, plot)),
                      Html::element("p", {{"class", "reading"}, {"id", "curve-reading"}},
                                    Html::text(chosen->description))}),
       curve_table(page)});
}

}  // namespace refrain::report
