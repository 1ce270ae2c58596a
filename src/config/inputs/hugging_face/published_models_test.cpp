// The config.json files that come with published models, against the published architectures.
#include <gtest/gtest.h>

#include <set>

#include "config/inputs/hugging_face/model_knobs.h"
#include "config/inputs/testing/outcome.h"
#include "config/knobs/configuration.h"
#include "config/recipes/architecture.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

struct Published {
  const char* file;
  const char* architecture;
  const char* differs = "";  // knobs, by blanks, that the table has otherwise
};

void PrintTo(const Published& published, std::ostream* out) { *out << published.file; }

const Published kPublished[] = {
    {"llama3-8b.json", "Llama 3 8B"},
    {"llama31-8b.json", "Llama 3.1 8B"},
    {"qwen2-0.5b.json", "Qwen2 0.5B"},
    {"qwen3-0.6b.json", "Qwen3 0.6B"},
    {"mixtral.json", "Mixtral 8x7B"},
    {"olmoe-1b-7b.json", "OLMoE 7B-A1B"},
    // The table has an expert's width: no layer is dense.
    {"qwen2-57b-a14b.json", "Qwen2 57B-A14B", "ffn_hidden_size"},
    {"qwen3-30b-a3b.json", "Qwen3 30B-A3B"},
    {"qwen3-next-80b-a3b.json", "Qwen3-Next 80B-A3B"},
    {"deepseek-v2-lite.json", "DeepSeek V2 Lite"},
    {"deepseek-v3.json", "DeepSeek V3"},
    {"moonlight-16b.json", "Moonlight 16B-A3B"},
    {"kimi-k2.json", "Kimi K2"},
    {"glm-4.5-air.json", "GLM-4.5-Air 106B-A12B"},
    {"gpt-oss-20b.json", "GPT-OSS 20B"},
};

class PublishedModel : public testing::TestWithParam<Published> {};

std::string path_of(const Published& model) {
  return std::string(REFRAIN_SOURCE_DIR) + "/tests/cases/models/" + model.file;
}

Value last_value(const Assignments& assignments, const std::string& knob) {
  Value value = "not assigned";
  for (const Assignment& each : assignments) {
    if (each.knob == knob) value = each.value;
  }
  return value;
}

TEST_P(PublishedModel, HasTheKnobsOfItsArchitecture) {
  const auto read = read_model_knobs(path_of(GetParam()));
  ASSERT_EQ(rules_of(read.findings), "");
  const Architecture* row = architecture_named(GetParam().architecture);
  ASSERT_NE(row, nullptr);
  const std::vector<std::string> differs = split(GetParam().differs, ' ');
  const std::set<std::string> expected(differs.begin(), differs.end());
  for (const Assignment& each : row->assignments) {
    const Value ours = last_value(*read.value, each.knob);
    EXPECT_EQ(ours == each.value, !expected.contains(each.knob))
        << each.knob << ": " << ours << " and " << each.value;
  }
}

TEST_P(PublishedModel, SetsOnlyKnobsThatMegatronHas) {
  const auto read = read_model_knobs(path_of(GetParam()));
  ASSERT_TRUE(read.value);
  const auto configured = configure(*read.value, Dialect::kBridge);
  EXPECT_TRUE(configured.findings.empty()) << to_text(configured.findings);
  for (const Assignment& each : *read.value) {
    EXPECT_EQ(each.source, (Source{Origin::kFile, path_of(GetParam())}));
  }
}

INSTANTIATE_TEST_SUITE_P(All, PublishedModel, testing::ValuesIn(kPublished));

}  // namespace
}  // namespace refrain::config
