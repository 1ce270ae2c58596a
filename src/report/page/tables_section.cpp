// The settings that the plan is compared with, and the layers that it treats alike.
#include <fmt/format.h>

#include <algorithm>

#include "report/page/sections.h"
#include "report/page/wording.h"

namespace refrain::report {
namespace {

constexpr int64_t kNarrowest = 12;  // so many labels of groups stand beside each other

/// A setting's name, which may go on in the next line after a comma.
Html setting_name(std::string_view name) {
  Html shown;
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find(',', at), name.size() - 1) + 1;
    if (at > 0) shown += Html::element("wbr", {});
    shown += Html::text(name.substr(at, end - at));
    at = end;
  }
  return shown;
}

Html setting_row(const std::string& name, const StepCost& cost, Bytes budget, bool chosen) {
  const bool fits = cost.peak <= budget;
  const std::string fit = fits ? "yes" : fmt::format("no, {} over", to_text(cost.peak - budget));
  Attributes attributes = {{"data-setting", name}};
  if (chosen) attributes.push_back({"class", "chosen"});
  return Html::element(
      "tr", attributes,
      {Html::element("th", {{"scope", "row"}}, setting_name(name)),
       number_cell(bytes_data(cost.peak)),
       Html::element("td", {{"class", fits ? "fits" : "exceeds"}}, Html::text(fit)),
       number_cell(overhead_data(cost)), number_cell(time_data(cost.step_s))});
}

Html settings_head() {
  Html head = heading_cell("setting");
  head += heading_cell("peak", true);
  head += heading_cell("fits");
  head += heading_cell("recompute time", true);
  head += heading_cell("step", true);
  return head;
}

double freed_share(const LayerGroup& group) {
  Bytes all, recomputed;
  for (const ActivationChoice& a : group.activations) {
    all += a.freed;
    if (a.recomputed) recomputed += a.freed;
  }
  if (all == Bytes()) return 0;
  return static_cast<double>(recomputed.count()) / static_cast<double>(all.count());
}

/// "0\u20136"; nothing where a group is too narrow to be written under.
std::string range_text(const LayerGroup& group, int64_t num_layers) {
  const int64_t layers = group.last - group.first + 1;
  if (layers * kNarrowest < num_layers) return "";
  return layers == 1 ? fmt::format("{}", group.first)
                     : fmt::format("{}\u2013{}", group.first, group.last);
}

/// Layers from first to last, each group as wide as it has layers, as high as it recomputes.
Html layer_strip(const PlanPage& page) {
  Html groups;
  for (const LayerGroup& group : page.layers) {
    const std::string range = range_text(group, page.layers.back().last + 1);
    groups += Html::element(
        "li", {{"style", fmt::format("flex-grow:{}", group.last - group.first + 1)}},
        {Html::element(
             "div", {{"class", "share"}},
             Html::element("div", {{"style", css_percent("height", freed_share(group))}}, Html())),
         Html::element("span", {}, Html::text(range))});
  }
  return Html::element(
      "div", {{"class", "strip"}, {"aria-hidden", "true"}},
      {Html::element("ol", {}, groups),
       Html::element(
           "p", {{"class", "note"}},
           {Html::element("span", {{"class", "swatch recomputed"}}, Html()),
            Html::text("recomputed"), Html::element("span", {{"class", "swatch kept"}}, Html()),
            Html::text("kept: share of what a layer's activations hold, "
                       "from the first layer to the last")})});
}

std::string kept_inputs_text(const LayerGroup& group) {
  return group.run > 1 ? fmt::format("one input for {} layers", group.run) : "the layer's input";
}

Html chips(const LayerGroup& group, bool recomputed) {
  Html list;
  for (const ActivationChoice& a : group.activations) {
    if (a.recomputed == recomputed) list += Html::element("li", {}, Html::text(a.name));
  }
  if (list.markup().empty()) return Html::text(recomputed ? "nothing" : kept_inputs_text(group));
  return Html::element("ul", {{"class", recomputed ? "chips recomputed" : "chips kept"}}, list);
}

Html layers_table(const PlanPage& page) {
  Html rows;
  for (const LayerGroup& group : page.layers) {
    rows += Html::element("tr", {},
                          {Html::element("th", {{"scope", "row"}}, Html::text(layers_text(group))),
                           Html::element("td", {}, chips(group, true)),
                           Html::element("td", {}, chips(group, false))});
  }
  Html head = heading_cell("layers");
  head += heading_cell("recomputed");
  head += heading_cell("kept");
  return table("What each layer recomputes and keeps, in forward order", head, rows, "layers");
}

Html reason_row(const ActivationChoice& a) {
  const double mib = static_cast<double>(a.freed.count()) / 0x1p20;
  const std::string rate =
      a.replay_s > 0 ? fmt::format("{:.1f}", mib / (1e3 * a.replay_s)) : "no time";
  return Html::element("tr", {},
                       {Html::element("th", {{"scope", "row"}}, Html::text(a.name)),
                        number_cell(bytes_data(a.freed)), number_cell(time_data(a.replay_s)),
                        number_cell(Html::text(rate)),
                        Html::element("td", {{"class", a.recomputed ? "recomputed" : "kept"}},
                                      Html::text(a.recomputed ? "recomputed" : "kept"))});
}

Html reasons(const PlanPage& page) {
  Html head = heading_cell("activation");
  head += heading_cell("frees", true);
  head += heading_cell("replay", true);
  head += heading_cell("MiB a ms", true);
  head += heading_cell("decision");
  Html groups;
  for (const LayerGroup& group : page.layers) {
    Html rows;
    for (const ActivationChoice& a : group.activations) rows += reason_row(a);
    const std::string layers = layers_text(group);
    groups += table(fmt::format("{}: each alone, of one layer and micro-batch", layers), head, rows,
                    "reasons");
  }
  return fold("Why: what each activation frees, and what it costs to run it again", groups);
}

std::string price_sentence(const PlanPage& page) {
  if (page.byte_price_s == 0) return "More budget would save nothing.";
  return fmt::format(
      "A MiB more of budget would save {} a step. What frees many bytes for little time is "
      "recomputed first; how the choices of all layers add up under the budget decides the rest.",
      time_text(page.byte_price_s * 0x1p20));
}

}  // namespace

Html settings_section(const PlanPage& page) {
  const Bytes budget = page.plan.budget;
  Html common = setting_row("this plan", page.plan.cost, budget, true), others;
  size_t num_others = 0;
  for (const SettingCost& setting : page.settings) {
    Html row = setting_row(setting.name, setting.cost, budget, false);
    if (setting.common) {
      common += row;
    } else {
      others += row;
      ++num_others;
    }
  }
  Html content = Html::element("h2", {{"id", "settings"}}, Html::text("Settings compared"));
  content += table("What Megatron's settings would give under the same budget", settings_head(),
                   common, "settings");
  if (num_others > 0) {
    content +=
        fold(fmt::format("{} more settings", num_others),
             table("The other settings that were evaluated", settings_head(), others, "settings"));
  }
  return Html::element("section", {{"aria-labelledby", "settings"}}, content);
}

Html layers_section(const PlanPage& page) {
  return Html::element(
      "section", {{"aria-labelledby", "layers"}},
      {Html::element("h2", {{"id", "layers"}}, Html::text("Layers")), layer_strip(page),
       layers_table(page),
       Html::element("p", {{"class", "after"}}, Html::text(price_sentence(page))), reasons(page)});
}

}  // namespace refrain::report
