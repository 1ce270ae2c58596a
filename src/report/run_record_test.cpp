#include "report/run_record.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace refrain::report {
namespace {

using nlohmann::json;

std::set<std::string> keys_of(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

TEST(StepRecord, HasTheFieldsThatReadersRelyOn) {
  StepRecord record{7, 2.5, 0.75, 1000.0, 12.5, {Bytes(11), Bytes(13)}};
  const std::string text = to_json(record);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const json object = json::parse(text);
  EXPECT_EQ(keys_of(object),
            (std::set<std::string>{"step", "loss", "grad_norm", "tokens_per_s", "step_ms",
                                   "peak_bytes_measured", "peak_bytes_ledger"}));
  EXPECT_EQ(object["step"], 7);
  EXPECT_EQ(object["loss"], 2.5);
  EXPECT_EQ(object["grad_norm"], 0.75);
  EXPECT_EQ(object["peak_bytes_measured"], 11);
  EXPECT_EQ(object["peak_bytes_ledger"], 13);
}

TEST(StepRecord, ALossThatIsNoNumberIsNull) {
  StepRecord record;
  record.loss = std::numeric_limits<double>::quiet_NaN();
  record.grad_norm = std::numeric_limits<double>::infinity();
  const json object = json::parse(to_json(record));
  EXPECT_TRUE(object["loss"].is_null());
  EXPECT_TRUE(object["grad_norm"].is_null());
}

TEST(SummaryRecord, IsMarkedAndKeepsEveryBitOfTheHash) {
  SummaryRecord record;
  record.steps = 3;
  record.tokens = 600;
  record.seconds = 2;
  record.grad_hash = 0x0fedcba987654321;
  const json object = json::parse(to_json(record));
  EXPECT_EQ(object["summary"], true);
  EXPECT_EQ(object["tokens_per_s"], 300.0);
  EXPECT_EQ(object["grad_hash"], "0fedcba987654321");
  EXPECT_FALSE(object.contains("eval_loss"));
  record.eval_loss = 1.5;
  EXPECT_EQ(json::parse(to_json(record))["eval_loss"], 1.5);
}

TEST(SummaryRecord, OfARunWithoutTimeHasNoSpeed) {
  EXPECT_EQ(json::parse(to_json(SummaryRecord{}))["tokens_per_s"], 0.0);
}

TEST(BenchRecord, HasTheFieldsThatReadersRelyOn) {
  BenchRecord record;
  record.setting = "selective:mlp";
  record.replay = "demand";
  record.attention = "fused";
  record.activations = Bytes(99);
  record.grad_hash = 1;
  const json object = json::parse(to_json(record));
  for (const char* key :
       {"setting", "replay", "attention", "tokens_per_s", "step_ms_p50", "overhead_percent",
        "peak_bytes_measured", "peak_bytes_ledger", "activation_bytes", "loss", "grad_hash"}) {
    EXPECT_TRUE(object.contains(key)) << key;
  }
  EXPECT_EQ(object["activation_bytes"], 99);
  EXPECT_EQ(object["grad_hash"], "0000000000000001");
}

TEST(BenchTable, HasOneRowARecordAndShowsBothPeaks) {
  BenchRecord record;
  record.setting = "full:uniform:1";
  record.overhead_percent = 24.96;
  record.peaks = {Bytes(123456), Bytes(123457)};
  const std::string text = bench_table({record, record}).to_text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  EXPECT_NE(text.find("full:uniform:1"), std::string::npos);
  EXPECT_NE(text.find("+25.0 %"), std::string::npos);
  EXPECT_NE(text.find("123456"), std::string::npos);
  EXPECT_NE(text.find("123457"), std::string::npos);
}

}  // namespace
}  // namespace refrain::report
