#include "report/page/plan_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/page/timeline_data.h"

namespace refrain::report {
namespace {

using nlohmann::json;

constexpr int64_t kMiB = int64_t{1} << 20;

/// Two accounts, of which the first never changes.
MemoryTimeline timeline_of(const std::vector<int64_t>& activations) {
  MemoryTimeline timeline{.accounts = {"parameters", "tables", "saved_activations"},
                          .resident = Bytes(100 * kMiB)};
  for (size_t i = 0; i < activations.size(); ++i) {
    timeline.steps.push_back({.name = "step" + std::to_string(i),
                              .held = {Bytes(100 * kMiB), Bytes(), Bytes(activations[i])}});
    if (activations[i] > activations[timeline.peak_step]) timeline.peak_step = i;
  }
  timeline.passes = {{"forward", 0, activations.size() - 1}};
  timeline.stretches = timeline.passes;
  return timeline;
}

PlanPage small_page() {
  PlanPage page{.model = "llama",
                .run = {{"layers", "2"}},
                .plan = {.budget = Bytes(140 * kMiB),
                         .cost = {.peak = Bytes(130 * kMiB), .replay_s = 0.1, .step_s = 1.1}},
                .least_peak = Bytes(120 * kMiB),
                .without = {.peak = Bytes(200 * kMiB), .step_s = 1}};
  page.timeline = timeline_of({10 * kMiB, 30 * kMiB, 20 * kMiB});
  page.curve = {page.plan, {.budget = page.without.peak, .cost = page.without}};
  page.settings = {{.name = "none", .cost = page.without, .common = true},
                   {.name = "full:block:2", .cost = page.plan.cost, .common = true}};
  page.layers = {{.first = 0,
                  .last = 1,
                  .activations = {{.name = "mlp.act", .freed = Bytes(kMiB), .recomputed = true},
                                  {.name = "attn.qkv", .freed = Bytes(kMiB)}}}};
  return page;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

json data_in(const std::string& html) {
  const std::string begin = "id=\"timeline-data\">";
  const size_t at = html.find(begin) + begin.size();
  return json::parse(html.substr(at, html.find("</script>", at) - at));
}

std::vector<int64_t> summed(const json& differences) {
  std::vector<int64_t> values;
  int64_t sum = 0;
  for (const int64_t difference : differences) values.push_back(sum += difference);
  return values;
}

TEST(PlanPage, AsksForNothingElse) {
  const std::string html = to_html(small_page());
  for (const char* part : {"http:", "https:", "url(", "@import", " src=", "<link", "<iframe"}) {
    EXPECT_FALSE(contains(html, part)) << part;
  }
  EXPECT_TRUE(contains(html, "default-src &#39;none&#39;"));
}

TEST(PlanPage, WhatAUserTypedIsShownAndNeverActs) {
  PlanPage page = small_page();
  page.model = page.run[0].value = page.timeline.steps[1].name =
      page.layers[0].activations[0].name = page.settings[1].name =
          "</script><img src=x onerror=alert(1)>\"' \xFF";
  page.settings[1].nearest = true;
  const std::string html = to_html(page);
  EXPECT_FALSE(contains(html, "<img"));
  EXPECT_FALSE(contains(html, "\xFF"));
  EXPECT_TRUE(contains(html,
                       "<h1><bdi>&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#39; "
                       "\uFFFD</bdi></h1>"));
  EXPECT_EQ(data_in(html)["names"][1], "</script><img src=x onerror=alert(1)>\"' \uFFFD");
}

TEST(PlanPage, TheScriptReadsEveryStepOfAShortTimeline) {
  const json data = data_in(to_html(small_page()));
  EXPECT_EQ(data["num_steps"], 3);
  EXPECT_EQ(data["peak"], 1);
  EXPECT_EQ(data["names"], json({"step0", "step1", "step2"}));
  EXPECT_EQ(summed(data["steps"]), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(summed(data["held"]["saved_activations"]),
            (std::vector<int64_t>{10 * kMiB, 30 * kMiB, 20 * kMiB}));
  EXPECT_FALSE(data["held"].contains("tables")) << "it holds nothing";
}

TEST(PlanPage, ALongTimelineIsThinnedAndKeepsItsPeak) {
  PlanPage page = small_page();
  std::vector<int64_t> activations;
  for (int64_t i = 0; i < 50000; ++i) activations.push_back((i * 7919) % kMiB);
  activations[31337] = 30 * kMiB;
  page.timeline = timeline_of(activations);
  const std::string html = to_html(page);
  const json data = data_in(html);
  EXPECT_LE(data["names"].size(), 2000u);
  const size_t peak = data["peak"];
  EXPECT_EQ(summed(data["steps"])[peak], 31337);
  EXPECT_EQ(data["names"][peak], "step31337");
  EXPECT_EQ(summed(data["held"]["saved_activations"])[peak], 30 * kMiB);
  EXPECT_LT(html.size(), 500000u);
}

TEST(PlanPage, ABudgetFarAboveThePeakIsSaidAndNotDrawn) {
  PlanPage page = small_page();
  page.plan.budget = Bytes(page.plan.cost.peak.count() * 3 / 2);
  EXPECT_TRUE(contains(to_html(page), "class=\"budget "));
  EXPECT_FALSE(contains(to_html(page), "lies above the chart"));
  page.plan.budget += Bytes(2);
  EXPECT_FALSE(contains(to_html(page), "class=\"budget "));
  EXPECT_TRUE(contains(to_html(page), "lies above the chart"));
}

TEST(PlanPage, TheWindowAboveTheResidentsComesFirstWhereTheyAreMostOfThePeak) {
  const std::string_view above = "id=\"scale-above\" class=\"choice\" checked=\"checked\"";
  PlanPage page = small_page();
  page.timeline.resident = Bytes(page.plan.cost.peak.count() / 2);
  EXPECT_FALSE(contains(to_html(page), above));
  page.timeline.resident += Bytes(1);
  EXPECT_TRUE(contains(to_html(page), above));
}

TEST(PlanPage, NothingButResidentsIsStillAChart) {
  PlanPage page = small_page();
  page.timeline = timeline_of({0, 0});
  page.plan.budget = page.plan.cost.peak = page.timeline.resident;
  EXPECT_FALSE(contains(to_html(page), "nan"));
  EXPECT_FALSE(contains(to_html(page), "inf"));
}

TEST(PlanPage, TheNearestSettingIsNamedWhereThereIsOne) {
  PlanPage page = small_page();
  EXPECT_EQ(nearest_setting(page), nullptr);
  EXPECT_TRUE(contains(to_html(page), "No setting that Megatron can express fits."));
  page.settings[1].nearest = true;
  EXPECT_EQ(nearest_setting(page), &page.settings[1]);
  EXPECT_TRUE(contains(to_html(page), "that fits, full:block:2, takes +10.0 % (1.10 s)"));
}

TEST(PlanPage, ASettingThatDoesNotFitSaysByHowMuch) {
  const std::string html = to_html(small_page());
  EXPECT_TRUE(contains(html, "<td class=\"exceeds\">no, 60.00 MiB over</td>"));
  EXPECT_TRUE(contains(html, "<td class=\"fits\">yes</td>"));
}

TEST(PlanPage, ALongSettingMayGoOnAfterAComma) {
  PlanPage page = small_page();
  page.settings[1].name = "selective:core_attn,mlp";
  EXPECT_TRUE(contains(to_html(page), ">selective:core_attn,<wbr />mlp</th>"));
  EXPECT_TRUE(contains(to_html(page), ">none</th>"));
}

TEST(PlanPage, AStepHoldsOneNumberAnAccount) {
  PlanPage page = small_page();
  page.timeline.steps[2].held.pop_back();
  EXPECT_THROW(to_html(page), Bug);
}

TEST(Timeline, AccountsThatEverHoldSomething) {
  MemoryTimeline timeline = timeline_of({0, 0, 0});
  EXPECT_EQ(held_accounts(timeline), (std::vector<size_t>{0}));
  timeline.steps[2].held[2] = Bytes(1);
  EXPECT_EQ(held_accounts(timeline), (std::vector<size_t>{0, 2}));
}

}  // namespace
}  // namespace refrain::report
