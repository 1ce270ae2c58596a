#include "config/recompute_setting.h"

#include <gtest/gtest.h>

#include <random>

namespace refrain::config {
namespace {

std::string rules_of(const Findings& findings) {
  std::string rules;
  for (const Finding& finding : findings) rules += (rules.empty() ? "" : " ") + finding.rule;
  return rules;
}

/// The setting's text, or "!" and the rules that were broken.
template <class Spelling>
std::string read(const Spelling& spelling) {
  const Checked<RecomputeSetting> checked = parse_recompute(spelling);
  EXPECT_EQ(checked.value.has_value(), !rejects(checked.findings));
  return checked.value ? to_text(*checked.value) : "!" + rules_of(checked.findings);
}

std::string read_text(std::string_view text) { return read(text); }

std::vector<RecomputeSetting> every_setting() {
  std::vector<RecomputeSetting> settings(1);
  const size_t num_labels = label_rows().size();
  for (size_t subset = 1; subset < (size_t{1} << num_labels); ++subset) {
    RecomputeSetting setting;
    setting.granularity = Granularity::kSelective;
    for (size_t i = 0; i < num_labels; ++i) {
      if (subset >> i & 1) setting.labels.push_back(label_rows()[i].label);
    }
    settings.push_back(setting);
  }
  for (const FullMethod method : {FullMethod::kUniform, FullMethod::kBlock}) {
    for (const int64_t layers : {int64_t{1}, int64_t{2}, int64_t{80}, INT64_MAX}) {
      RecomputeSetting setting;
      setting.granularity = Granularity::kFull;
      setting.method = method;
      setting.num_layers = layers;
      settings.push_back(setting);
    }
  }
  return settings;
}

TEST(RecomputeSetting, WhatIsPrintedReadsBackTheSame) {
  for (const RecomputeSetting& setting : every_setting()) {
    const auto checked = parse_recompute(to_text(setting));
    ASSERT_TRUE(checked.value) << to_text(setting) << "\n" << to_text(checked.findings);
    EXPECT_EQ(*checked.value, setting) << to_text(setting);
    EXPECT_TRUE(checked.findings.empty());
  }
}

TEST(RecomputeSetting, TakesLabelsInAnyOrderAndForgivesBlanks) {
  EXPECT_EQ(read_text("selective:mlp,core_attn"), "selective:core_attn,mlp");
  EXPECT_EQ(read_text(" selective: layernorm , mlp "), "selective:layernorm,mlp");
  EXPECT_EQ(read_text(" none "), "none");
}

TEST(RecomputeSetting, RefusesWhatIsNoSetting) {
  for (const char* text : {"", "non", "nothing", "None", "none:", "core_attn", "selectiv:mlp"}) {
    EXPECT_EQ(read_text(text), "!recompute.unknown-setting") << text;
  }
  EXPECT_NE(to_text(parse_recompute("selectiv:mlp").findings).find("did you mean selective?"),
            std::string::npos);
}

TEST(RecomputeSetting, FullNeedsAMethodAndAPositiveWholeNumber) {
  EXPECT_EQ(read_text("full:uniform:1"), "full:uniform:1");
  EXPECT_EQ(read_text("full:block:9223372036854775807"), "full:block:9223372036854775807");
  for (const char* text : {"full", "full:", "full:uniform", "full:uniform:1:2", "full:2"}) {
    EXPECT_EQ(read_text(text), "!recompute.malformed-full") << text;
  }
  for (const char* text : {"full:uniform:0", "full:uniform:-1", "full:block:", "full:block:x",
                           "full:block:1.5", "full:block:9223372036854775808"}) {
    EXPECT_EQ(read_text(text), "!recompute.num-layers") << text;
  }
  EXPECT_EQ(read_text("full:unifrom:1"), "!recompute.unknown-method");
  EXPECT_EQ(read_text("full:unifrom:0"), "!recompute.unknown-method recompute.num-layers");
}

TEST(RecomputeSetting, SelectiveNeedsLabels) {
  for (const char* text : {"selective", "selective:", "selective: "}) {
    EXPECT_EQ(read_text(text), "!recompute.no-labels") << text;
  }
  EXPECT_EQ(read_text("selective:mlp,"), "!recompute.unknown-label");
}

TEST(RecomputeSetting, AnUnknownLabelGetsTheNearestAndAForeignOneIsToldApart) {
  const auto misspelt = parse_recompute("selective:layer_norm,mpl");
  EXPECT_EQ(rules_of(misspelt.findings), "recompute.unknown-label recompute.unknown-label");
  EXPECT_NE(misspelt.findings[0].remedy.find("layernorm"), std::string::npos);
  EXPECT_NE(misspelt.findings[1].remedy.find("mlp"), std::string::npos);
  for (const char* label : {"moe", "moe_act", "shared_experts", "mla_up_proj", "gdn_norm_out",
                            "gdp_in_proj", "gdp_qkv", "mhc"}) {
    EXPECT_EQ(read_text("selective:" + std::string(label)), "!recompute.label-not-there-yet")
        << label;
  }
}

TEST(RecomputeSetting, ALabelGivenTwiceCountsOnceWithANote) {
  const auto checked = parse_recompute("selective:mlp,mlp");
  ASSERT_TRUE(checked.value);
  EXPECT_EQ(to_text(*checked.value), "selective:mlp");
  EXPECT_EQ(rules_of(checked.findings), "recompute.duplicate-label");
  EXPECT_TRUE(parse_recompute("selective:mlp,core_attn").findings.empty());
}

MegatronRecompute selective(std::optional<std::vector<std::string>> modules) {
  MegatronRecompute spelling;
  spelling.granularity = "selective";
  spelling.modules = std::move(modules);
  return spelling;
}

MegatronRecompute full(std::optional<std::string> method, std::optional<std::string> layers) {
  MegatronRecompute spelling;
  spelling.granularity = "full";
  spelling.method = std::move(method);
  spelling.num_layers = std::move(layers);
  return spelling;
}

TEST(MegatronRecompute, NothingGivenIsNone) {
  EXPECT_EQ(read(MegatronRecompute{}), "none");
  MegatronRecompute nulls{"null", std::nullopt, "None", "null"};
  EXPECT_EQ(read(nulls), "none");
}

TEST(MegatronRecompute, MeansTheSameAsOurSpelling) {
  EXPECT_EQ(read(selective({{"core_attn", "layernorm"}})), "selective:core_attn,layernorm");
  EXPECT_EQ(read(full("uniform", "4")), "full:uniform:4");
  EXPECT_EQ(read(full("block", "1")), "full:block:1");
}

TEST(MegatronRecompute, SelectiveWithoutModulesIsCoreAttentionWithANote) {
  const auto checked = parse_recompute(selective({}));
  ASSERT_TRUE(checked.value);
  EXPECT_EQ(to_text(*checked.value), "selective:core_attn");
  EXPECT_EQ(rules_of(checked.findings), "recompute.default-modules");
  EXPECT_TRUE(parse_recompute(selective({{"core_attn"}})).findings.empty());
}

TEST(MegatronRecompute, AnEmptyListOfModulesIsAFinding) {
  EXPECT_EQ(read(selective(std::vector<std::string>{})), "!recompute.no-labels");
}

TEST(MegatronRecompute, FullNeedsMethodAndNumLayersAndSaysBothAtOnce) {
  EXPECT_EQ(read(full({}, {})), "!recompute.method-missing recompute.num-layers-missing");
  EXPECT_EQ(read(full("uniform", {})), "!recompute.num-layers-missing");
  EXPECT_EQ(read(full("null", "1")), "!recompute.method-missing");
  EXPECT_EQ(read(full({}, "0")), "!recompute.num-layers recompute.method-missing");
  EXPECT_EQ(read(full("blok", "1")), "!recompute.unknown-method");
}

TEST(MegatronRecompute, AKnobWithoutEffectIsAFinding) {
  MegatronRecompute spelling = selective({{"mlp"}});
  spelling.method = "uniform";
  EXPECT_EQ(read(spelling), "!recompute.left-over");
  spelling.num_layers = "1";
  EXPECT_EQ(read(spelling), "!recompute.left-over recompute.left-over");
  spelling = full("uniform", "1");
  spelling.modules = {{"mlp"}};
  EXPECT_EQ(read(spelling), "!recompute.left-over");
  spelling = {};
  spelling.modules = {{"mlp"}};
  EXPECT_EQ(read(spelling), "selective:mlp");
  spelling.method = "uniform";
  EXPECT_EQ(read(spelling), "!recompute.left-over recompute.selective-implied");
  spelling = {};
  spelling.method = "uniform";
  spelling.num_layers = "1";
  EXPECT_EQ(read(spelling), "!recompute.left-over recompute.left-over");
}

TEST(MegatronRecompute, AnUnknownGranularityGetsTheNearest) {
  MegatronRecompute spelling;
  spelling.granularity = "selectve";
  EXPECT_EQ(read(spelling), "!recompute.unknown-granularity");
  EXPECT_NE(parse_recompute(spelling).findings[0].remedy.find("selective"), std::string::npos);
  spelling.granularity = "";
  EXPECT_EQ(read(spelling), "!recompute.unknown-granularity");
}

TEST(LabelRows, StandInTheOrderOfTheEnumeration) {
  ASSERT_EQ(label_rows().size(), 4u);
  for (size_t i = 0; i < label_rows().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(label_rows()[i].label), i);
  }
  EXPECT_EQ(to_text(Label::kCoreAttn), "core_attn");
  EXPECT_EQ(to_text(Label::kLayernorm), "layernorm");
  EXPECT_EQ(to_text(Label::kMlp), "mlp");
  EXPECT_EQ(to_text(Label::kPointwise), "pointwise");
}

// Whatever bytes come in, a reading is a setting that prints and reads back, or findings.
TEST(RecomputeSetting, RandomTextIsReadOrRefused) {
  std::mt19937 random(20240611);
  const std::vector<std::string> pieces = {"full",    "selective", "none",         ":", ",",
                                           "uniform", "mlp",       "core_attn",    "1", "-",
                                           " ",       "block",     "9999999999999"};
  int num_accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (size_t n = random() % 7; n > 0; --n) {
      text += random() % 8 == 0 ? std::string(1, static_cast<char>(random()))
                                : pieces[random() % pieces.size()];
    }
    const auto checked = parse_recompute(text);
    ASSERT_EQ(checked.value.has_value(), !rejects(checked.findings)) << text;
    if (!checked.value) continue;
    ++num_accepted;
    EXPECT_EQ(parse_recompute(to_text(*checked.value)).value, checked.value) << text;
  }
  EXPECT_GT(num_accepted, 10);
}

}  // namespace
}  // namespace refrain::config
