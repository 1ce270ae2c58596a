// Configurations that people reported in public, and what a check must say to each in Refrain's own
// dialect: accept, reject, or warn (accepted, with a finding). The source stands in the data.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "config/check/check.h"

namespace refrain {
namespace {

using nlohmann::json;

std::string verdict_of(const json& input) {
  config::Assignments assignments;
  for (const auto& [knob, value] : input.items()) assignments.push_back({knob, value, {}, false});
  const config::CheckReport report = check(assignments, {}, config::Dialect::kRefrain);
  if (!report.accepted) return "reject";
  return report.findings.empty() ? "accept" : "warn";
}

TEST(PublicCases, GetTheExpectedVerdict) {
  std::ifstream lines(REFRAIN_SOURCE_DIR "/tests/cases/public_cases.jsonl");
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json one = json::parse(line);
    SCOPED_TRACE(line);
    const std::string verdict = verdict_of(one["input"]);
    if (one["verdict"] == "accept") {
      EXPECT_NE(verdict, "reject");  // what is accepted may carry a note
    } else {
      EXPECT_EQ(verdict, one["verdict"].get<std::string>());
    }
  }
  EXPECT_EQ(count, 42);
}

}  // namespace
}  // namespace refrain
