// The bytes of a pipeline's last rank over configurations kept as data.
//
// golden.jsonl: exact values of an independent replay, written in another language, for runs of
// Megatron-LM's functional tests: the peak of the first step, of two steps, and what is held at
// rest. The first six lines are the worked examples A to F of the memory model. recorded.jsonl:
// what those tests recorded on A100, H100 and GB200 (Megatron-LM, tests/functional_tests, golden
// values at d98e8a64ddf3), and how near the prediction comes.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "allocator/replay.h"
#include "mcore/memory/rank_stream.h"
#include "run_facts.h"

namespace refrain::cases {
namespace {

using nlohmann::json;

std::vector<json> lines_of(const std::string& name) {
  std::ifstream file(std::string(REFRAIN_SOURCE_DIR) + "/tests/cases/memory/" + name);
  std::vector<json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  return lines;
}

allocator::Result replay_last_rank(const mcore::Run& run, int num_steps) {
  const int64_t rank = run.parallel.pipeline - 1;
  return allocator::replay(mcore::memory::rank_stream(run, rank, num_steps), {});
}

TEST(MemoryCases, EqualTheIndependentReplayToTheByte) {
  const std::vector<json> cases = lines_of("golden.jsonl");
  ASSERT_GE(cases.size(), 60u);
  for (const json& expected : cases) {
    SCOPED_TRACE(expected.at("name").get<std::string>());
    const mcore::Run run = run_of(expected.at("facts"));
    const allocator::Result first = replay_last_rank(run, 1);
    const allocator::Result both = replay_last_rank(run, expected.at("steps"));
    EXPECT_EQ(first.allocated.bytes.count(), expected.at("first_step").get<int64_t>());
    EXPECT_EQ(both.allocated.bytes.count(), expected.at("peak").get<int64_t>());
    EXPECT_EQ(both.end.usage.allocated.count(), expected.at("at_rest").get<int64_t>());
  }
}

TEST(MemoryCases, ComeAsNearToRecordedPeaksAsStated) {
  const std::vector<json> cases = lines_of("recorded.jsonl");
  ASSERT_GE(cases.size(), 60u);
  for (const json& recorded : cases) {
    SCOPED_TRACE(recorded.at("name").get<std::string>());
    const allocator::Result result =
        replay_last_rank(run_of(recorded.at("facts")), recorded.at("steps"));
    const double error =
        static_cast<double>(result.allocated.bytes.count()) / recorded.at("peak").get<double>() - 1;
    EXPECT_LE(std::abs(error) * 100, recorded.at("within_percent").get<double>()) << error;
  }
}

TEST(MemoryCases, RefuseAFactThatARunDoesNotHave) {
  EXPECT_THROW(run_of(json::parse(R"({"model": {"hiden": 512}})")), std::runtime_error);
  EXPECT_EQ(run_of(json::parse(R"({"model": {"hidden": 512}})")).model.hidden, 512);
}

}  // namespace
}  // namespace refrain::cases
