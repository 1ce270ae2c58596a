#include "cli/megatron/megatron_options.h"

#include <gtest/gtest.h>

namespace refrain::cli {
namespace {

using Method = mcore::Recompute::Method;
using Arguments = std::vector<std::string>;

Arguments llama_8b(const Arguments& more) {
  Arguments arguments = {"--model", "llama3_8b", "--hardware", "h100", "--tp", "2", "--dp", "4"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

MegatronPlanOptions plan_of(const Arguments& more) {
  const auto parsed = parse_megatron_plan(llama_8b(more));
  EXPECT_TRUE(parsed.options.value) << to_text(parsed.options.findings);
  return parsed.options.value.value_or(MegatronPlanOptions());
}

std::string refusal(const Arguments& more) {
  const auto parsed = parse_megatron_plan(llama_8b(more));
  return parsed.options.findings.empty() ? "" : parsed.options.findings[0].rule;
}

double step_s(const MegatronPlanOptions& options, const mcore::Recompute& setting) {
  mcore::Run run = options.run;
  run.recompute = setting;
  return cost::step_time(run, options.device, {.calibration = options.calibration()}).step_s;
}

TEST(AnchorOption, TheControlThenTakesWhatWasMeasured) {
  const MegatronPlanOptions options = plan_of({"--anchor", "700:selective:mlp"});
  ASSERT_TRUE(options.anchor);
  EXPECT_EQ(options.anchor->setting.method, Method::kSelective);
  EXPECT_EQ(options.anchor->setting.labels, std::set<std::string>{"mlp"});
  EXPECT_NEAR(step_s(options, options.anchor->setting), 0.7, 1e-9);
  EXPECT_NEAR(options.anchor->control.step_s, 0.7, 1e-9);
  EXPECT_LT(step_s(options, {}), 0.7);
}

TEST(AnchorOption, WithoutASettingItIsTheOneThatRunsNow) {
  EXPECT_EQ(plan_of({"--anchor", "700"}).anchor->setting, mcore::Recompute{});
  const MegatronPlanOptions now = plan_of({"--anchor", "700", "--recompute", "full:uniform:1"});
  EXPECT_EQ(now.anchor->setting.method, Method::kUniform);
  const MegatronPlanOptions other =
      plan_of({"--anchor", "700:none", "--recompute", "full:uniform:1"});
  EXPECT_EQ(other.anchor->setting.method, Method::kNone);
}

TEST(AnchorOption, WithoutOneNothingIsScaled) {
  const MegatronPlanOptions options = plan_of({});
  EXPECT_FALSE(options.anchor);
  EXPECT_EQ(options.calibration().gpu, 1);
  EXPECT_EQ(options.calibration().host, 1);
}

TEST(AnchorOption, WhatIsNoStepIsAFinding) {
  for (const char* text : {"fast", "0", "-3", "nan", "inf", ":mlp", "1e999"}) {
    EXPECT_EQ(refusal({std::string("--anchor=") + text}), "plan.anchor") << text;
  }
  EXPECT_EQ(refusal({"--anchor", "700:"}), "recompute.unreadable");
  EXPECT_EQ(refusal({"--anchor", "700:selective:mpl"}), "recompute.unknown-label");
  EXPECT_EQ(refusal({"--anchor", "0.001"}), "time.anchor-out-of-reach");
}

TEST(RunOptions, Fp8WeightsAndBf16GradientsGoWithSomePrecisions) {
  const mcore::Numerics numerics =
      plan_of({"--precision", "fp8-current", "--fp8-param-gather", "--grad-reduce-in-bf16"})
          .run.numerics;
  EXPECT_TRUE(numerics.low_precision_params);
  EXPECT_EQ(numerics.gradient_bytes, 2);
  EXPECT_EQ(plan_of({}).run.numerics.gradient_bytes, 4);
  EXPECT_EQ(refusal({"--fp8-param-gather"}), "plan.precision");
  EXPECT_EQ(refusal({"--precision", "nvfp4", "--fp8-param-gather"}), "plan.precision");
  EXPECT_EQ(refusal({"--precision", "fp32", "--grad-reduce-in-bf16"}), "plan.precision");
}

TEST(LedgerOptions, ARankMustBeOneOfThePipelines) {
  const auto parse = [](const char* rank) {
    return parse_megatron_ledger(llama_8b({"--mcore", "--pp", "2", "--rank", rank}));
  };
  EXPECT_EQ(parse("1").options.value->rank, 1);
  EXPECT_EQ(parse("2").options.findings.at(0).rule, "ledger.no-such-rank");
  EXPECT_EQ(parse("-1").options.findings.at(0).rule, "ledger.no-such-rank");
}

TEST(LedgerOptions, OnlyTheFlagItselfAsksForMegatron) {
  EXPECT_TRUE(names_mcore({"--model", "m", "--mcore"}));
  EXPECT_FALSE(names_mcore({"--model", "mcore"}));
}

}  // namespace
}  // namespace refrain::cli
