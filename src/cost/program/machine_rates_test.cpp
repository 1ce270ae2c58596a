#include "cost/program/machine_rates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace refrain::cost {
namespace {

std::string rule_after(auto change) {
  nlohmann::json object = nlohmann::json::parse(to_json(default_rates()));
  change(object);
  const Findings findings = parse_rates(object.dump()).findings;
  return findings.empty() ? "" : findings[0].rule;
}

TEST(MachineRates, ReadBackWhatWasWritten) {
  const auto read = parse_rates(to_json(default_rates()));
  ASSERT_TRUE(read.value) << to_text(read.findings);
  EXPECT_EQ(*read.value, default_rates());
}

TEST(MachineRates, MustBeThereNumbersAndAboveZero) {
  EXPECT_EQ(rule_after([](auto& o) { o.erase("gemm_flops"); }), "rates.missing");
  EXPECT_EQ(rule_after([](auto& o) { o["gemm_flops"] = "fast"; }), "rates.not-a-number");
  EXPECT_EQ(rule_after([](auto& o) { o["gemm_flops"] = 0; }), "rates.out-of-range");
  EXPECT_EQ(rule_after([](auto& o) { o["memory_bytes"] = -1; }), "rates.out-of-range");
  EXPECT_EQ(rule_after([](auto& o) { o["memory_bytes"] = 1e300; }), "rates.out-of-range");
  EXPECT_EQ(rule_after([](auto& o) { o["step_s"] = -1e-9; }), "rates.out-of-range");
  EXPECT_EQ(rule_after([](auto& o) { o["step_s"] = 0; }), "");
  EXPECT_EQ(rule_after([](auto& o) { o["name"] = 3; }), "rates.not-a-text");
}

TEST(MachineRates, AnUnknownNameIsAFindingWithTheNearest) {
  const std::string text = R"({"gem_flops": 1})";
  bool found = false;
  for (const Finding& finding : parse_rates(text).findings) {
    found = found || (finding.rule == "rates.unknown" &&
                      finding.message.find("gemm_flops") != std::string::npos);
  }
  EXPECT_TRUE(found);
}

TEST(MachineRates, WhatIsNoObjectIsRefused) {
  for (const char* text : {"", "[", "[1, 2]", "3", "nul"}) {
    EXPECT_EQ(parse_rates(text).findings.at(0).rule, "rates.unreadable") << text;
  }
  EXPECT_EQ(read_rates("/nowhere/rates.json").findings.at(0).rule, "rates.no-file");
}

TEST(MachineRates, AFileOfMoreThan64KiBIsRefusedAndNotReadToItsEnd) {
  const std::string text = to_json(default_rates());
  const std::string longest = text + std::string((64 << 10) - text.size(), ' ');
  EXPECT_TRUE(parse_rates(longest).value);
  EXPECT_EQ(parse_rates(longest + ' ').findings.at(0).rule, "rates.unreadable");
  EXPECT_EQ(read_rates("/dev/zero").findings.at(0).rule, "rates.unreadable");
  EXPECT_EQ(read_rates("/").findings.at(0).rule, "rates.no-file");
}

TEST(MachineRates, WhatTheyHoldInsteadIsSaidInFewWords) {
  const std::string deep = std::string(30000, '[') + std::string(30000, ']');
  for (const std::string& text :
       {R"({"gemm_flops": )" + deep + "}", R"({"name": )" + deep + "}",
        std::string(R"({"\u001b[31m": 1})"), "{\"" + std::string(60000, 'x') + "\": 1}"}) {
    for (const Finding& finding : parse_rates(text).findings) {
      EXPECT_LT(finding.message.size(), 600u);
      EXPECT_EQ(finding.message.find('\x1b'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace refrain::cost
