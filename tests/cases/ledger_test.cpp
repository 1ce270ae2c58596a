// What `refrain ledger` prints adds up, in every format; what `refrain` does about its engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "sandbox.h"

namespace refrain::cases {
namespace {

using nlohmann::json;

json ledger_json(const Sandbox& sandbox, const std::string& flags) {
  const Outcome outcome = sandbox.run("refrain ledger --json " + flags);
  EXPECT_EQ(outcome.exit_code, 0) << flags << "\n" << outcome.err;
  return json::parse(outcome.out, nullptr, false);
}

/// Rows of numbers: the columns after the quoted name.
std::vector<std::vector<int64_t>> csv_rows(const std::string& text) {
  std::vector<std::vector<int64_t>> rows;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    std::istringstream numbers(line.substr(line.rfind('"') + 2));
    std::vector<int64_t> row;
    for (std::string cell; std::getline(numbers, cell, ',');) row.push_back(std::stoll(cell));
    rows.push_back(row);
  }
  return rows;
}

class Ledger : public testing::TestWithParam<const char*> {};

TEST_P(Ledger, JsonAddsUpToThePeak) {
  const Sandbox sandbox;
  const json ledger = ledger_json(sandbox, GetParam());
  ASSERT_TRUE(ledger.is_object());
  int64_t at_the_peak = 0;
  for (const auto& [name, account] : ledger["accounts"].items()) {
    at_the_peak += account["bytes"].get<int64_t>();
    int64_t of_parts = 0;
    for (const auto& [part, bytes] : account["parts"].items()) of_parts += bytes.get<int64_t>();
    EXPECT_EQ(of_parts, account["bytes"]) << name;
  }
  EXPECT_EQ(at_the_peak, ledger["peak_bytes"]);

  int64_t highest = 0;
  for (size_t i = 0; i < ledger["timeline"].size(); ++i) {
    const json& step = ledger["timeline"][i];
    EXPECT_EQ(step["step"], i);
    EXPECT_GE(step["during_bytes"], step["after_bytes"]);
    highest = std::max(highest, step["during_bytes"].get<int64_t>());
  }
  EXPECT_EQ(highest, ledger["peak_bytes"]);
  const json& peak_step = ledger["timeline"][ledger["peak_step"].get<size_t>()];
  EXPECT_EQ(peak_step["during_bytes"], ledger["peak_bytes"]);
  EXPECT_EQ(peak_step["name"], ledger["peak_step_name"]);
  EXPECT_EQ(ledger["timeline"].back()["after_bytes"], ledger["static_bytes"]);
}

TEST_P(Ledger, CsvIsTheTimelineWithEveryAccount) {
  const Sandbox sandbox;
  const json ledger = ledger_json(sandbox, GetParam());
  const Outcome csv = sandbox.run(std::string("refrain ledger --csv ") + GetParam());
  ASSERT_EQ(csv.exit_code, 0);
  const auto rows = csv_rows(csv.out);
  ASSERT_EQ(rows.size(), ledger["timeline"].size());
  const auto columns = static_cast<size_t>(
      std::count(csv.out.begin(), std::find(csv.out.begin(), csv.out.end(), '\n'), ','));
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), columns - 1);  // without step and name
    EXPECT_EQ(rows[i][0], ledger["timeline"][i]["during_bytes"]);
    EXPECT_EQ(rows[i][1], ledger["timeline"][i]["after_bytes"]);
    EXPECT_EQ(std::accumulate(rows[i].begin() + 2, rows[i].end(), int64_t{0}), rows[i][0]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Ledger,
    testing::Values(
        "--model llama-tiny", "--model gpt-tiny --dropout 0.1 --attention unfused",
        "--model qwen-tiny --recompute full:uniform:3 --replay region",
        "--model llama-tiny --recompute selective:core_attn,layernorm,mlp --global-batch 8",
        "--model llama-tiny --dtype bf16 --clip-grad 1 --recompute full:block:2",
        "--model gpt-tiny --recompute selective:pointwise --threads 3"));

TEST(LedgerCommand, EchoesTheSettingsThatTookEffect) {
  const Sandbox sandbox;
  const json settings = ledger_json(
      sandbox,
      "--model gpt-tiny --micro-batch 2 --global-batch 6 --dtype bf16 --threads 3 "
      "--attention unfused --replay region --dropout 0.25 --clip-grad 2 "
      "recompute_granularity=full recompute_method=block recompute_num_layers=9")["settings"];
  const json expected = {{"model", "gpt-tiny"},
                         {"seq", 128},
                         {"micro_batch", 2},
                         {"global_batch", 6},
                         {"recompute", "full:block:9"},
                         {"replay", "region"},
                         {"attention", "unfused"},
                         {"dtype", "bf16"},
                         {"dropout", 0.25},
                         {"clip_grad", 2.0},
                         {"threads", 3}};
  EXPECT_EQ(settings, expected);
}

TEST(LedgerCommand, ComparesWithNoRecompute) {
  const Sandbox sandbox;
  const std::string model = "--model llama-15m ";
  const json none = ledger_json(sandbox, model);
  const json full = ledger_json(sandbox, model + "--recompute full:uniform:1");
  EXPECT_EQ(none["peak_bytes_without_recompute"], none["peak_bytes"]);
  EXPECT_EQ(full["peak_bytes_without_recompute"], none["peak_bytes"]);
  EXPECT_LT(full["peak_bytes"], none["peak_bytes"]);
  EXPECT_EQ(full["static_bytes"], none["static_bytes"]);
  EXPECT_TRUE(full["findings"].empty());
}

TEST(LedgerCommand, APathThatIsNoUtf8StaysJson) {
  const Sandbox sandbox;
  const Outcome copied = sandbox.run("cp models/gpt2.json '" + sandbox.path("\xff.json") + "'");
  ASSERT_EQ(copied.exit_code, 0);
  EXPECT_TRUE(ledger_json(sandbox, "--model '" + sandbox.path("\xff.json") + "'").is_object());
}

TEST(Engine, ThatIsMissingIsAnErrorWithItsPlace) {
  const Sandbox sandbox(Sandbox::Engine::kAbsent);
  const Outcome outcome = sandbox.run("refrain train");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find(sandbox.path("refrain-engine")), std::string::npos);
  // What needs no engine works without it, and findings come first.
  EXPECT_EQ(sandbox.run("refrain train --help").exit_code, 0);
  EXPECT_EQ(sandbox.run("refrain train --steps 0").exit_code, 2);
  EXPECT_EQ(sandbox.run("refrain models").exit_code, 0);
}

TEST(Engine, IsFoundBesideTheProgramAndNotBesideALinkToIt) {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "mkdir -p '" + sandbox.path("elsewhere") + "' && ln -s '" + sandbox.path("refrain") + "' '" +
      sandbox.path("elsewhere/refrain") + "' && '" + sandbox.path("elsewhere/refrain") + "' bench");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "engine\nbench\n");
}

TEST(Engine, PassesItsExitCodeThrough) {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run("printf '#!/bin/sh\\nexit 130\\n' > '" +
                                      sandbox.path("refrain-engine") + "'; refrain train");
  EXPECT_EQ(outcome.exit_code, 130);
}

TEST(Engine, ThatCannotBeRunIsAnError) {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run("printf '\\177ELFnonsense' > '" +
                                      sandbox.path("refrain-engine") + "'; refrain train");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("running the engine"), std::string::npos);
}

}  // namespace
}  // namespace refrain::cases
