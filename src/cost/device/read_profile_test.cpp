#include "cost/device/read_profile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "cost/device/devices.h"
#include "cost/device/profile_fields.h"

namespace refrain::cost {
namespace {

std::multiset<std::string> rules_of(const Findings& findings) {
  std::multiset<std::string> rules;
  for (const Finding& finding : findings) rules.insert(finding.rule);
  return rules;
}

/// A profile that inherits an H100's numbers and has `fields` of its own.
Checked<DeviceProfile> read(std::string_view fields) {
  return read_device(
      fmt::format(R"({{"inherits": "h100-80gb"{}{}}})", fields.empty() ? "" : ", ", fields));
}

void expect_rule(std::string_view fields, const char* rule) {
  const auto read_one = read(fields);
  EXPECT_FALSE(read_one.value) << fields;
  EXPECT_EQ(rules_of(read_one.findings), std::multiset<std::string>{rule})
      << fields << "\n"
      << to_text(read_one.findings);
}

TEST(ReadProfile, TakesPlainNumbersAndNumbersWithSources) {
  const auto profile = read(
      R"("name": "mine", "memory_bytes": 64e9, "nvlink_domain": 4,
         "gemm_bf16": {"value": 0.7, "range": [0.6, 0.8], "source": "measured"})");
  ASSERT_TRUE(profile.value) << to_text(profile.findings);
  EXPECT_EQ(profile.value->name, "mine");
  EXPECT_EQ(profile.value->memory_bytes, 64'000'000'000);
  EXPECT_EQ(profile.value->peaks.nvlink_domain, 4);
  EXPECT_EQ(profile.value->rates.gemm.bf16, 0.7);
  EXPECT_EQ(profile.value->provenance.at("gemm_bf16").source, "measured");
  EXPECT_EQ(profile.value->rates.gemm.fp8, find_device("h100").value->rates.gemm.fp8);
}

TEST(ReadProfile, BothEndsOfABoundAreAllowedAndWhatIsBeyondIsNot) {
  for (const ProfileField& field : profile_fields()) {
    for (const double bound : {field.least, field.most}) {
      EXPECT_TRUE(read(fmt::format(R"("{}": {:.17g})", field.name, bound)).value) << field.name;
    }
    expect_rule(fmt::format(R"("{}": {:.17g})", field.name, field.most * 2), "device.out-of-range");
    expect_rule(fmt::format(R"("{}": -1)", field.name), "device.out-of-range");
    if (field.least > 0) expect_rule(fmt::format(R"("{}": 0)", field.name), "device.out-of-range");
  }
}

TEST(ReadProfile, RefusesWhatIsNoNumber) {
  expect_rule(R"("bf16_flops": "989e12")", "device.wrong-type");
  expect_rule(R"("bf16_flops": null)", "device.wrong-type");
  expect_rule(R"("bf16_flops": true)", "device.wrong-type");
  expect_rule(R"("bf16_flops": {"range": [1, 2]})", "device.wrong-type");
  expect_rule(R"("nvlink_domain": 7.5)", "device.wrong-type");
  expect_rule(R"("name": 5)", "device.wrong-type");
  expect_rule(R"("gemm_bf16": {"value": 0.7, "range": [0.6]})", "device.wrong-type");
  expect_rule(R"("gemm_bf16": {"value": 0.7, "source": 1})", "device.wrong-type");
  expect_rule(R"("bf16_flops": NaN)", "device.not-json");
  expect_rule(R"("bf16_flops": 1e999)", "device.not-json");
}

TEST(ReadProfile, AValueLiesWithinItsRange) {
  EXPECT_TRUE(read(R"("gemm_bf16": {"value": 0.7, "range": [0.7, 0.7]})").value);
  expect_rule(R"("gemm_bf16": {"value": 0.7, "range": [0.71, 0.8]})", "device.out-of-range");
  expect_rule(R"("gemm_bf16": {"value": 0.7, "range": [0.8, 0.6]})", "device.out-of-range");
}

TEST(ReadProfile, AnUnknownFieldIsAFindingThatNamesTheNearest) {
  const auto profile = read(R"("gem_bf16": 0.7)");
  ASSERT_EQ(rules_of(profile.findings), std::multiset<std::string>{"device.unknown-field"});
  EXPECT_EQ(profile.findings[0].remedy, "did you mean gemm_bf16?");
  expect_rule(R"("gemm_bf16": {"value": 0.7, "sources": "me"})", "device.unknown-field");
}

TEST(ReadProfile, AHostIsOneOfTwo) {
  EXPECT_EQ(read(R"("host": "arm")").value->host, "arm");
  expect_rule(R"("host": "sparc")", "device.out-of-range");
}

TEST(ReadProfile, WithoutABaseEveryFieldThatIsNotOptionalMustBeThere) {
  const auto empty = read_device("{}");
  ASSERT_FALSE(empty.value);
  size_t required = 0;
  for (const ProfileField& field : profile_fields()) required += field.optional ? 0 : 1;
  EXPECT_EQ(rules_of(empty.findings).count("device.missing-field"), required);
  EXPECT_EQ(empty.findings.size(), required);

  std::string whole;
  for (const ProfileField& field : profile_fields()) {
    if (!field.optional) whole += fmt::format(R"(, "{}": {:.17g})", field.name, field.most);
  }
  EXPECT_TRUE(read_device(fmt::format(R"({{"name": "own"{}}})", whole)).value);
}

TEST(ReadProfile, AnUnknownBaseIsAFindingThatNamesTheNearest) {
  const auto profile = read_device(R"({"inherits": "h100-80g"})");
  ASSERT_EQ(rules_of(profile.findings), std::multiset<std::string>{"device.unknown-base"});
  EXPECT_EQ(profile.findings[0].remedy, "did you mean h100-80gb?");
}

TEST(ReadProfile, AProfileHasAtMost64KiB) {
  const std::string text = R"({"inherits": "h100-80gb"})";
  const std::string longest = text + std::string((64 << 10) - text.size(), ' ');
  EXPECT_TRUE(read_device(longest).value);
  EXPECT_EQ(rules_of(read_device(longest + ' ').findings),
            std::multiset<std::string>{"device.not-json"});
}

TEST(ReadProfile, AllFindingsOfAFileAtOnce) {
  const auto profile = read(R"("bf16_flops": -1, "gemm_bf16": "fast", "speed": 3)");
  EXPECT_EQ(rules_of(profile.findings),
            (std::multiset<std::string>{"device.out-of-range", "device.wrong-type",
                                        "device.unknown-field"}));
}

TEST(ReadProfile, RefusesWhatIsNoObject) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("5"),
        std::string("\xff\xfe"), std::string("{\"a\": 1} x"), std::string(2 << 20, ' '),
        std::string(100000, '[')}) {
    const auto profile = read_device(text);
    EXPECT_EQ(rules_of(profile.findings), std::multiset<std::string>{"device.not-json"});
  }
}

}  // namespace
}  // namespace refrain::cost
