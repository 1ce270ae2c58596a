#include "accuracy/report/render.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace refrain::accuracy {
namespace {

using nlohmann::json;

Evaluated sample() {
  return {.file = "runs.csv",
          .outcomes = {{.row = 1,
                        .name = "small | error",
                        .family = "a",
                        .modelled = true,
                        .reason = "num_gpus assumed",
                        .peak_measured = Bytes(1000),
                        .peak_point = Bytes(1010),
                        .peak_upper = Bytes(1100)},
                       {.row = 2,
                        .name = "large error",
                        .family = "a",
                        .modelled = true,
                        .peak_measured = Bytes(1000),
                        .peak_point = Bytes(900),
                        .peak_upper = Bytes(990),
                        .time_measured_ms = 20,
                        .time_ms = 30},
                       {.row = 3, .name = "odd", .reason = "no such model"}}};
}

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST(Render, JsonIsAnObjectARowAndThenTheSums) {
  const std::vector<json> lines = lines_of(to_json_lines(sample()));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0]["row"], 1);
  EXPECT_EQ(lines[0]["modelled"], true);
  EXPECT_EQ(lines[0]["reason"], "num_gpus assumed");
  EXPECT_EQ(lines[0]["peak_point"], 1010);
  EXPECT_EQ(lines[0]["peak_upper"], 1100);
  EXPECT_EQ(lines[0]["peak_measured"], 1000);
  EXPECT_NEAR(lines[0]["error_percent"].get<double>(), 1, 1e-9);
  EXPECT_TRUE(lines[0]["time_ms"].is_null());
  EXPECT_NEAR(lines[1]["time_error_percent"].get<double>(), 50, 1e-9);
  EXPECT_EQ(lines[2]["modelled"], false);
  EXPECT_TRUE(lines[2]["peak_point"].is_null());
  const json& all = lines[3]["summary"][0];
  EXPECT_EQ(all["rows"], 3);
  EXPECT_EQ(all["modelled"], 2);
  EXPECT_EQ(all["peak"]["under_predicted"], 1);
  EXPECT_EQ(all["peak_upper"]["under_predicted"], 1);
  EXPECT_EQ(all["time"]["count"], 1);
}

TEST(Render, TextHasALineARowAndSaysWhyOneIsNotModelled) {
  const std::string text = to_text(sample());
  EXPECT_NE(text.find("+1.00"), std::string::npos);
  EXPECT_NE(text.find("-10.00"), std::string::npos);
  EXPECT_NE(text.find("not modelled: no such model"), std::string::npos);
  EXPECT_NE(text.find("under bound"), std::string::npos);
}

TEST(Render, MarkdownHasTheWorstFirstAndKeepsBarsInsideCells) {
  const std::string page = to_markdown({sample()});
  EXPECT_LT(page.find("large error"), page.find("small \\| error"));
  EXPECT_NE(page.find("## runs.csv"), std::string::npos);
  EXPECT_NE(page.find("| 3 | odd | no such model |"), std::string::npos);
  EXPECT_NE(page.find("+50.0 %"), std::string::npos);
}

TEST(Render, APageOfNothingHasNoTables) {
  const std::string page = to_markdown({{.file = "empty.csv"}});
  EXPECT_EQ(page.find("worst first\n"), std::string::npos);
  EXPECT_EQ(page.find("### Not modelled"), std::string::npos);
}

}  // namespace
}  // namespace refrain::accuracy
