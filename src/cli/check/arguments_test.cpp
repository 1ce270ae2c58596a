#include "cli/check/arguments.h"

#include <gtest/gtest.h>

namespace refrain::cli {
namespace {

using config::Value;

const std::string kModels = std::string(REFRAIN_SOURCE_DIR) + "/tests/cases/models/";

/// The first rule that is broken; empty where there is none.
std::string first_rule(const Findings& findings) {
  return findings.empty() ? "" : findings[0].rule;
}

Checked<config::Assignments> read(const std::vector<std::string>& words) {
  const auto arguments = parse_check(words);
  EXPECT_TRUE(arguments.value) << to_text(arguments.findings);
  return read_configuration(arguments.value.value_or(CheckArguments{}));
}

/// The value that counts; "not set" where there is none.
Value last_value(const std::vector<std::string>& words, std::string_view knob) {
  const auto assignments = read(words);
  EXPECT_TRUE(assignments.value) << to_text(assignments.findings);
  Value value = "not set";
  for (const auto& each : assignments.value.value_or(config::Assignments{})) {
    if (each.knob == knob) value = each.value;
  }
  return value;
}

TEST(CheckArguments, AModelIsAnArchitectureANameOfOursOrAConfigJson) {
  EXPECT_EQ(last_value({"--model", "deepseek_v3"}, "kv_lora_rank"), 512);
  EXPECT_EQ(last_value({"--model", "deepseek-ai/DeepSeek-V3"}, "kv_lora_rank"), 512);
  EXPECT_EQ(last_value({"--model=llama-tiny"}, "num_layers"), 4);
  EXPECT_EQ(last_value({"--model", kModels + "deepseek-v3.json"}, "kv_lora_rank"), 512);
  EXPECT_EQ(last_value({"--model", kModels + "mixtral.json"}, "num_moe_experts"), 8);
  EXPECT_EQ(last_value({kModels + "mixtral.json"}, "num_moe_experts"), 8);
}

TEST(CheckArguments, ANamedModelAndItsConfigJsonAreTheSameKnobs) {
  const auto named = read({"--model", "gpt2-124m"});
  const auto file = read({"--model", kModels + "gpt2.json"});
  ASSERT_TRUE(named.value && file.value);
  for (const auto& each : *named.value) {
    EXPECT_EQ(last_value({"--model", kModels + "gpt2.json"}, each.knob), each.value) << each.knob;
  }
}

TEST(CheckArguments, WordsWinOverTheModel) {
  EXPECT_EQ(last_value({"--model", "deepseek_v3", "num_layers=4"}, "num_layers"), 4);
  EXPECT_EQ(last_value({"num_layers=4", "--model", "deepseek_v3"}, "num_layers"), 4);
}

TEST(CheckArguments, AModelThatIsNotThereIsAFinding) {
  EXPECT_EQ(first_rule(read({"--model", "./none.json"}).findings), "model.no-such-file");
  EXPECT_EQ(first_rule(read({"--model", kModels}).findings), "model.is-a-directory");
  EXPECT_EQ(first_rule(read({"--model", "Qwen/Qwen9-8B"}).findings), "architecture.unknown");
  EXPECT_EQ(first_rule(read({"--model", "deepseek_v9"}).findings), "architecture.unknown");
  EXPECT_EQ(first_rule(read({"--model", kModels + "broken.json"}).findings),
            "model.size-out-of-range");
}

TEST(CheckArguments, AFlagOfOursNeedsItsValue) {
  for (const char* flag : {"--model", "--recipe", "--batch", "--dialect", "--harness"}) {
    EXPECT_EQ(first_rule(parse_check({flag}).findings), "cli.missing-value") << flag;
    EXPECT_EQ(first_rule(parse_check({flag, ""}).findings), "cli.missing-value") << flag;
    EXPECT_EQ(first_rule(parse_check({std::string(flag) + "="}).findings), "cli.missing-value");
  }
}

TEST(CheckArguments, FlagsAreThoseOfTheDialectsRelease) {
  const std::vector<std::string> words = {"--transformer-impl", "local"};
  const auto by = [&](const std::string& dialect) {
    return last_value({"--dialect", dialect, words[0], words[1]}, "transformer_impl");
  };
  EXPECT_EQ(by("mcore-0.13.1"), "not set");
  EXPECT_EQ(by("mcore-0.14.0"), "local");
}

}  // namespace
}  // namespace refrain::cli
