#include "cli/plan/timeline_ranges.h"

#include <gtest/gtest.h>

namespace refrain::cli {
namespace {

using report::StepRange;

plan::PreparedStep prepared(int64_t num_micro_batches, double clip_grad = 0) {
  config::RunShape shape{
      .micro_batch = 1, .seq = 32, .num_micro_batches = num_micro_batches, .clip_grad = clip_grad};
  return plan::prepare(*config::find_model("llama-tiny").value, shape,
                       config::RecomputeSetting{.granularity = config::Granularity::kFull},
                       config::ReplayPolicy::kDemand);
}

std::vector<std::string> names(const std::vector<StepRange>& ranges) {
  std::vector<std::string> names;
  for (const StepRange& range : ranges) names.push_back(range.name);
  return names;
}

void expect_all_steps_once(const std::vector<StepRange>& ranges, const plan::PreparedStep& step) {
  size_t next = 0;
  for (const StepRange& range : ranges) {
    EXPECT_EQ(range.first, next) << range.name;
    EXPECT_GE(range.last, range.first) << range.name;
    next = range.last + 1;
  }
  EXPECT_EQ(next, step.program.steps.size());
}

using Names = std::vector<std::string>;

TEST(Passes, OfOneMicroBatch) {
  const plan::PreparedStep step = prepared(1);
  EXPECT_EQ(names(passes_of(step)), (Names{"forward", "loss", "backward"}));
  expect_all_steps_once(passes_of(step), step);
}

TEST(Passes, UpdatesAfterClippingAreAPassOfTheirOwn) {
  EXPECT_EQ(names(passes_of(prepared(1, 1.0))), (Names{"forward", "loss", "backward", "update"}));
}

TEST(Passes, SeveralMicroBatchesAreNamed) {
  EXPECT_EQ(names(passes_of(prepared(2))),
            (Names{"forward, micro-batch 0", "loss, micro-batch 0", "backward, micro-batch 0",
                   "forward, micro-batch 1", "loss, micro-batch 1", "backward, micro-batch 1"}));
}

TEST(Stretches, AreLayersWhereThereIsRoom) {
  const plan::PreparedStep step = prepared(1);
  const auto ranges = stretches_of(step);
  expect_all_steps_once(ranges, step);
  const Names expected = {"forward embedding", "forward layer 0", "forward layer 1",
                          "forward layer 2",   "forward layer 3", "forward head"};
  const Names found = names(ranges);
  EXPECT_EQ(Names(found.begin(), found.begin() + 6), expected);
  EXPECT_EQ(found.back(), "backward embedding");
}

TEST(Stretches, AreGroupsOfLayersWhereThereIsNot) {
  const plan::PreparedStep step = prepared(1);
  const size_t all = stretches_of(step).size();
  EXPECT_EQ(stretches_of(step, all).size(), all);
  const auto fewer = stretches_of(step, all - 1);
  EXPECT_LT(fewer.size(), all);
  expect_all_steps_once(fewer, step);
  EXPECT_EQ(fewer[1].name, "forward layers 0 to 1");
}

TEST(Stretches, MiddleMicroBatchesBecomeOneWhereEvenPassesAreMany) {
  const plan::PreparedStep step = prepared(6);
  const auto ranges = stretches_of(step, 7);
  expect_all_steps_once(ranges, step);
  EXPECT_EQ(names(ranges),
            (Names{"forward, micro-batch 0", "loss, micro-batch 0", "backward, micro-batch 0",
                   "micro-batches 1 to 4", "forward, micro-batch 5", "loss, micro-batch 5",
                   "backward, micro-batch 5"}));
}

}  // namespace
}  // namespace refrain::cli
