#include "report/page/plan_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/version.h"
#include "report/page/assets.h"
#include "report/page/sections.h"
#include "report/page/timeline_data.h"

namespace refrain::report {
namespace {

// The page asks for nothing, and a browser holds it to that.
constexpr const char* kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'";

Html meta(const std::string& name, const std::string& content) {
  return Html::element("meta", {{"name", name}, {"content", content}});
}

Html head(const PlanPage& page) {
  return Html::element(
      "head", {},
      {Html::element("meta", {{"charset", "utf-8"}}),
       Html::element("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", kPolicy}}),
       meta("viewport", "width=device-width, initial-scale=1"), meta("color-scheme", "light dark"),
       Html::element("title", {}, Html::text(fmt::format("Recompute plan of {}", page.model))),
       Html::raw_text("style", kPageStyle)});
}

Html foot() {
  return Html::element(
      "footer", {},
      Html::element(
          "p", {},
          Html::text(fmt::format(
              "Refrain {}. Bytes are exact: the ledger's, step by step. Times are a model "
              "of the machine named above, not measured.",
              version()))));
}

Html body(const PlanPage& page) {
  Html main = overview(page);
  main += timeline_section(page);
  main += curve_section(page);
  main += settings_section(page);
  main += layers_section(page);
  return Html::element("body", {},
                       {Html::element("main", {}, main), foot(), timeline_data(page.timeline),
                        Html::raw_text("script", kPageScript)});
}

void check(const PlanPage& page) {
  const MemoryTimeline& timeline = page.timeline;
  RC_CHECK(timeline.peak_step < timeline.steps.size(), "{}", timeline.peak_step);
  for (const MemoryStep& step : timeline.steps) {
    RC_CHECK(step.held.size() == timeline.accounts.size(), "{}", step.name);
  }
  RC_CHECK(!page.curve.empty());
}

}  // namespace

const SettingCost* nearest_setting(const PlanPage& page) {
  const auto nearest = std::find_if(page.settings.begin(), page.settings.end(),
                                    [](const SettingCost& setting) { return setting.nearest; });
  return nearest == page.settings.end() ? nullptr : &*nearest;
}

std::string to_html(const PlanPage& page) {
  check(page);
  return "<!DOCTYPE html>\n" +
         Html::element("html", {{"lang", "en"}}, {head(page), body(page)}).markup() + "\n";
}

}  // namespace refrain::report
