// Memory over the steps of one training step, stacked by account.
//
// The bands are drawn once, as paths in steps, and shown by two windows: one from zero, one above
// what no plan frees. Each band is painted from its upper edge down to zero, highest first, so an
// edge is written once.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "report/page/chart/scale.h"
#include "report/page/chart/steps.h"
#include "report/page/sections.h"
#include "report/page/timeline_data.h"
#include "report/page/wording.h"

namespace refrain::report {
namespace {

constexpr int kByteTicks = 5;
constexpr double kHeadroom = 1.18;       // above the highest line: room for its label
constexpr double kFarBudget = 1.5;       // of the peak: a budget beyond it is not drawn
constexpr double kMostlyResident = 0.5;  // of the peak: then the window above it comes first
constexpr double kFineness = 2000;       // viewBox units of the window above the residents

/// A window on the bands.
struct Window {
  std::string id, label;
  Scale scale;
};

struct Chart {
  const PlanPage& page;
  const MemoryTimeline& timeline;
  double highest;               // what must be seen: the peak, and the budget unless it is far
  std::vector<Window> windows;  // from zero, above the residents
  int64_t height;               // of the bands' viewBox, from zero to the first window's top

  bool draws_budget() const { return highest >= static_cast<double>(page.plan.budget.count()); }
  int64_t y(Bytes bytes) const {
    const double share = windows[0].scale.share(static_cast<double>(bytes.count()));
    return height - static_cast<int64_t>(share * static_cast<double>(height) + 0.5);
  }
};

Chart chart_of(const PlanPage& page) {
  const auto count = [](Bytes bytes) { return static_cast<double>(bytes.count()); };
  const double peak = count(page.plan.cost.peak), budget = count(page.plan.budget);
  const double highest = budget <= kFarBudget * peak ? std::max(peak, budget) : peak;
  // Nothing but residents would leave no window above them.
  const double low = std::min(count(page.timeline.resident), 0.999 * highest);
  Chart chart{.page = page, .timeline = page.timeline, .highest = highest};
  chart.windows = {
      {"scale-zero", "From zero", {0, kHeadroom * highest}},
      {"scale-above", "Above parameters and optimizer", {low, low + kHeadroom * (highest - low)}}};
  chart.height = static_cast<int64_t>(kFineness * highest / (highest - low));
  return chart;
}

Html bands(const Chart& chart) {
  const MemoryTimeline& timeline = chart.timeline;
  const std::vector<size_t> accounts = held_accounts(timeline);
  const std::vector<size_t> steps = drawn_steps(timeline);
  std::vector<Bytes> top(steps.size());
  std::vector<Html> paths;
  for (const size_t account : accounts) {
    std::vector<StepPoint> edge;
    for (size_t i = 0; i < steps.size(); ++i) {
      top[i] += timeline.steps[steps[i]].held[account];
      edge.push_back({static_cast<int64_t>(steps[i]), chart.y(top[i])});
    }
    const auto end = static_cast<int64_t>(timeline.steps.size());
    paths.push_back(Html::element("path",
                                  {{"class", "band " + timeline.accounts[account]},
                                   {"d", step_area(edge, end, chart.height)}},
                                  Html()));
  }
  Html drawn;
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) drawn += *path;
  return Html::element(
      "svg", {{"class", "defs"}, {"width", "0"}, {"height", "0"}, {"aria-hidden", "true"}},
      Html::element("defs", {}, Html::element("g", {{"id", "bands"}}, drawn)));
}

Html bands_in(const Chart& chart, const Window& window) {
  const double top = chart.windows[0].scale.high, height = static_cast<double>(chart.height);
  const std::string box = fmt::format("0 {:.2f} {} {:.2f}", height * (1 - window.scale.high / top),
                                      chart.timeline.steps.size(),
                                      height * (window.scale.high - window.scale.low) / top);
  return Html::element("svg",
                       {{"viewBox", box}, {"preserveAspectRatio", "none"}, {"aria-hidden", "true"}},
                       Html::element("use", {{"href", "#bands"}}, Html()));
}

Html budget_line(const Chart& chart, const Window& window, bool label_left) {
  const Bytes budget = chart.page.plan.budget;
  return Html::element(
      "div",
      {{"class", label_left ? "budget left" : "budget right"},
       {"style", css_percent("bottom", window.scale.share(static_cast<double>(budget.count())))}},
      Html::element("span", {}, Html::text("budget " + to_text(budget))));
}

Html plot(const Chart& chart, const Window& window) {
  const MemoryTimeline& timeline = chart.timeline;
  Html content;
  for (const Bytes tick : byte_ticks(window.scale, kByteTicks)) {
    content += Html::element(
        "div",
        {{"class", "tick"},
         {"style", css_percent("bottom", window.scale.share(static_cast<double>(tick.count())))}},
        Html::element("span", {}, Html::text(tick_text(tick))));
  }
  content += bands_in(chart, window);
  const double x =
      (static_cast<double>(timeline.peak_step) + 0.5) / static_cast<double>(timeline.steps.size());
  const bool right_half = x > 0.5;
  if (chart.draws_budget()) content += budget_line(chart, window, right_half);
  const double y = window.scale.share(static_cast<double>(chart.page.plan.cost.peak.count()));
  content += Html::element(
      "div",
      {{"class", right_half ? "peak left" : "peak right"},
       {"style", css_percent("left", x) + ";" + css_percent("bottom", y)}},
      Html::element("span", {}, Html::text("peak " + to_text(chart.page.plan.cost.peak))));
  return Html::element("div", {{"class", "plot " + window.id}}, content);
}

Html window_choice(const Window& window, bool chosen) {
  Attributes attributes = {
      {"type", "radio"}, {"name", "scale"}, {"id", window.id}, {"class", "choice"}};
  if (chosen) attributes.push_back({"checked", "checked"});
  Html choice = Html::element("input", attributes);
  choice += Html::element("label", {{"for", window.id}}, Html::text(window.label));
  return choice;
}

std::string step_text(const MemoryTimeline& timeline, size_t step) {
  return fmt::format("step {} of {}, {}", step + 1, timeline.steps.size(),
                     timeline.steps[step].name);
}

Html passes_strip(const MemoryTimeline& timeline) {
  const auto num_steps = static_cast<double>(timeline.steps.size());
  Html strip;
  for (const StepRange& pass : timeline.passes) {
    const double width = static_cast<double>(pass.last - pass.first + 1) / num_steps;
    // Which micro-batch it is of, its place says.
    const std::string name = width > 0.1 ? pass.name.substr(0, pass.name.find(',')) : "";
    strip += Html::element("span", {{"style", css_percent("width", width)}, {"title", pass.name}},
                           Html::text(name));
  }
  return Html::element("div", {{"class", "passes"}, {"aria-hidden", "true"}}, strip);
}

Html plots(const Chart& chart) {
  const MemoryTimeline& timeline = chart.timeline;
  const std::string summary = fmt::format(
      "Memory over {} steps of one training step, stacked by account. The peak is {}, at {}. The "
      "budget is {}.",
      timeline.steps.size(), to_text(chart.page.plan.cost.peak),
      step_text(timeline, timeline.peak_step), to_text(chart.page.plan.budget));
  Html content;
  for (const Window& window : chart.windows) content += plot(chart, window);
  content += Html::element("div", {{"class", "cursor"}, {"hidden", "hidden"}}, Html());
  Html frame = Html::element(
      "div", {{"class", "plots"}, {"id", "timeline"}, {"role", "img"}, {"aria-label", summary}},
      content);
  frame += passes_strip(timeline);
  return frame;
}

/// Legend and reading in one: what each account holds at the step that is pointed at.
Html readout(const MemoryTimeline& timeline) {
  const MemoryStep& step = timeline.steps[timeline.peak_step];
  std::vector<size_t> accounts = held_accounts(timeline);
  std::reverse(accounts.begin(), accounts.end());  // as they are stacked
  Html rows;
  const auto add = [&](const std::string& account, Bytes bytes) {
    rows += Html::element(
        "tr", {{"data-account", account}},
        {Html::element("th", {{"scope", "row"}},
                       {Html::element("span", {{"class", "swatch " + account}}, Html()),
                        Html::text(account_text(account))}),
         number_cell(bytes_data(bytes))});
  };
  for (const size_t account : accounts) add(timeline.accounts[account], step.held[account]);
  add("total", total(step));
  return Html::element(
      "table", {{"class", "readout"}, {"id", "timeline-readout"}},
      {Html::element("caption", {},
                     {Html::text("Held at "),
                      Html::element("span", {{"class", "where"}},
                                    Html::text(step_text(timeline, timeline.peak_step)))}),
       Html::element("tbody", {}, rows)});
}

size_t highest_step(const MemoryTimeline& timeline, const StepRange& range) {
  const auto begin = timeline.steps.begin() + range.first;
  const auto highest = std::max_element(
      begin, timeline.steps.begin() + range.last + 1,
      [](const MemoryStep& a, const MemoryStep& b) { return total(a) < total(b); });
  return highest - timeline.steps.begin();
}

Html stretch_row(const MemoryTimeline& timeline, const StepRange& stretch) {
  const size_t at = highest_step(timeline, stretch);
  Html cells = Html::element("th", {{"scope", "row"}}, Html::text(stretch.name));
  cells += number_cell(Html::text(fmt::format("{}", at + 1)));
  cells += Html::element("td", {}, Html::text(timeline.steps[at].name));
  cells += number_cell(bytes_data(total(timeline.steps[at])));
  for (const size_t account : held_accounts(timeline)) {
    cells += number_cell(bytes_data(timeline.steps[at].held[account]));
  }
  Attributes attributes;
  if (at == timeline.peak_step) attributes.push_back({"class", "chosen"});
  return Html::element("tr", attributes, cells);
}

Html stretches_table(const MemoryTimeline& timeline) {
  Html head = heading_cell("part of the step");
  head += heading_cell("highest step", true);
  head += heading_cell("its name");
  head += heading_cell("held", true);
  for (const size_t account : held_accounts(timeline)) {
    head += heading_cell(account_text(timeline.accounts[account]), true);
  }
  Html rows;
  for (const StepRange& stretch : timeline.stretches) rows += stretch_row(timeline, stretch);
  return fold("The same as a table",
              table("The highest step of each part of the training step, by account", head, rows,
                    "stretches"),
              "fold long");
}

}  // namespace

Html timeline_section(const PlanPage& page) {
  const Chart chart = chart_of(page);
  const double resident_share = static_cast<double>(page.timeline.resident.count()) /
                                static_cast<double>(page.plan.cost.peak.count());
  const bool above = resident_share > kMostlyResident;
  Html figure = bands(chart);
  figure += window_choice(chart.windows[0], !above);
  figure += window_choice(chart.windows[1], above);
  figure += Html::element("div", {{"class", "beside"}},
                          {Html::element("div", {}, plots(chart)), readout(page.timeline)});
  if (!chart.draws_budget()) {
    figure += Html::element("p", {{"class", "note"}},
                            Html::text(fmt::format("The budget, {}, lies above the chart.",
                                                   to_text(page.plan.budget))));
  }
  figure += Html::element(
      "p", {{"class", "note scripted-only"}},
      Html::text("Point at the chart, or focus it and use the arrow keys, Page Up and Page Down; P "
                 "goes back to the peak."));
  return Html::element(
      "section", {{"aria-labelledby", "memory"}},
      {Html::element("h2", {{"id", "memory"}}, Html::text("Memory over one training step")),
       Html::element("div", {{"class", "chart"}}, figure), stretches_table(page.timeline)});
}

}  // namespace refrain::report
