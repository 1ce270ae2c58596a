#include "cli/check/batch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace refrain::cli {
namespace {

using config::Dialect;

nlohmann::json verdict(std::string_view line, std::optional<Dialect> dialect = {}) {
  return nlohmann::json::parse(judge_line(line, dialect));
}

TEST(Batch, ALineIsJudgedByItsVersion) {
  const char* kwargs =
      R"("kwargs": {"num_layers": 4, "num_attention_heads": 4, "moe_layer_recompute": true})";
  const auto answer = verdict(fmt::format(R"({{"id": "a", "version": "0.19.2", {}}})", kwargs));
  EXPECT_EQ(answer["id"], "a");
  EXPECT_EQ(answer["dialect"], "mcore-0.19.2");
  EXPECT_EQ(answer["verdict"], "accept");
  EXPECT_EQ(answer["effective"]["recompute_modules"], nlohmann::json({"core_attn", "moe"}));
  EXPECT_TRUE(answer["error_type"].is_null());
}

TEST(Batch, TheDialectThatIsAskedForDecides) {
  const char* line = R"({"kwargs": {"num_attention_heads": 4, "pipeline_model_parallel_size": 2}})";
  EXPECT_EQ(verdict(line)["dialect"], "refrain");
  EXPECT_EQ(verdict(line, Dialect::kMcore_0_19_2)["error_type"], "ValueError");
}

TEST(Batch, ARejectedLineSaysWhatIsRaised) {
  const auto answer = verdict(R"({"version": "0.17.1", "kwargs": {"num_attention_heads": 4,
                                  "cuda_graph_scope": "bogus"}})");
  EXPECT_EQ(answer["verdict"], "reject");
  EXPECT_EQ(answer["error_type"], "KeyError");
  EXPECT_TRUE(answer["effective"].is_null());
}

TEST(Batch, AnArgumentNobodyKnowsIsATypeError) {
  const auto answer = verdict(R"({"version": "0.19.2", "kwargs": {"no_such_field": 1}})");
  EXPECT_EQ(answer["verdict"], "reject");
  EXPECT_EQ(answer["error_type"], "TypeError");
}

TEST(Batch, AValueOfAnotherTypeIsRejectedAndNobodyIsSaidToRaise) {
  const auto answer = verdict(R"({"version": "0.19.2", "kwargs": {"recompute_modules": 7}})");
  EXPECT_EQ(answer["verdict"], "reject");
  EXPECT_TRUE(answer["error_type"].is_null());
  EXPECT_EQ(answer["findings"], nlohmann::json({"knob.wrong-type"}));
  const auto both = verdict(
      R"({"version": "0.19.2", "kwargs": {"recompute_modules": 7, "zzz_no_such_field": 1}})");
  EXPECT_EQ(both["error_type"], "TypeError");
  EXPECT_NE(both["error"].get<std::string>().find("zzz_no_such_field"), std::string::npos);
}

TEST(Batch, ABadLineHasAVerdictOfItsOwn) {
  const std::string deep(100000, '[');
  for (const std::string& line : {std::string("not json"), std::string("[]"), std::string("{}"),
                                  std::string(R"({"kwargs": 3})"), std::string(),
                                  std::string(R"({"kwargs": {}, "version": 7})"),
                                  std::string(R"({"kwargs": {}, "version": "9.9"})"), deep,
                                  std::string("\xff\xfe"), std::string(2 << 20, ' ')}) {
    EXPECT_EQ(verdict(line)["verdict"], "invalid") << line.substr(0, 40);
  }
}

}  // namespace
}  // namespace refrain::cli
