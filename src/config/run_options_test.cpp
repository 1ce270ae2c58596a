#include "config/run_options.h"

#include <gtest/gtest.h>

#include <limits>

namespace refrain::config {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class Options>
std::string rules_of(const Options& options) {
  std::string rules;
  for (const Finding& finding : validate(options)) {
    rules += (rules.empty() ? "" : " ") + finding.rule;
  }
  return rules;
}

TrainOptions train_options() {
  TrainOptions options;
  options.model = find_model("llama-tiny").value.value();
  return options;
}

TEST(TrainOptions, TheDefaultsPass) { EXPECT_EQ(rules_of(train_options()), ""); }

TEST(TrainOptions, CountsHaveBothEnds) {
  TrainOptions options = train_options();
  options.steps = 1;
  EXPECT_EQ(rules_of(options), "");
  options.steps = 0;
  EXPECT_EQ(rules_of(options), "run.count-out-of-range");
  options.steps = INT64_MAX;
  EXPECT_EQ(rules_of(options), "run.count-out-of-range");

  options = train_options();
  options.eval.every = -1;
  options.eval.batches = 0;
  EXPECT_EQ(rules_of(options), "run.count-out-of-range run.count-out-of-range");
}

TEST(TrainOptions, LearningRatesAreOrderedAndPositive) {
  TrainOptions options = train_options();
  options.optimizer.min_lr = options.optimizer.lr;
  EXPECT_EQ(rules_of(options), "");
  options.optimizer.min_lr = options.optimizer.lr * 1.01;
  EXPECT_EQ(rules_of(options), "run.min-learning-rate");
  options.optimizer.min_lr = 0;
  EXPECT_EQ(rules_of(options), "");
  options.optimizer.lr = 0;
  EXPECT_EQ(rules_of(options), "run.learning-rate");
  options.optimizer.lr = kNan;
  EXPECT_EQ(rules_of(options), "run.learning-rate run.min-learning-rate");
}

TEST(TrainOptions, BetasAreBelowOne) {
  TrainOptions options = train_options();
  options.optimizer.beta1 = 0;
  EXPECT_EQ(rules_of(options), "");
  options.optimizer.beta1 = 1;
  options.optimizer.beta2 = -0.1;
  EXPECT_EQ(rules_of(options), "run.beta run.beta");
  options.optimizer.beta1 = kNan;
  options.optimizer.beta2 = 0.999;
  EXPECT_EQ(rules_of(options), "run.beta");
}

TEST(TrainOptions, WeightDecayIsNotNegative) {
  TrainOptions options = train_options();
  options.optimizer.weight_decay = 0;
  EXPECT_EQ(rules_of(options), "");
  options.optimizer.weight_decay = -1e-9;
  EXPECT_EQ(rules_of(options), "run.weight-decay");
}

TEST(TrainOptions, WarmUpEndsBeforeTheDecay) {
  TrainOptions options = train_options();
  options.optimizer.warmup_steps = options.optimizer.decay_steps;
  EXPECT_EQ(rules_of(options), "");
  options.optimizer.warmup_steps = options.optimizer.decay_steps + 1;
  EXPECT_EQ(rules_of(options), "run.warmup-exceeds-decay");
}

TEST(TrainOptions, SavingEverySoOftenNeedsAFolder) {
  TrainOptions options = train_options();
  options.checkpoint.save_every = 5;
  EXPECT_EQ(rules_of(options), "run.save-every-needs-save");
  options.checkpoint.save = "runs/a";
  EXPECT_EQ(rules_of(options), "");
}

TEST(BenchOptions, EveryAttentionBackEndIsJudgedAndABrokenShapeToldOnce) {
  BenchOptions options;
  options.model = find_model("llama-tiny").value.value();
  options.attentions = {AttentionBackend::kFused, AttentionBackend::kUnfused};
  EXPECT_EQ(rules_of(options), "");
  options.shape.dropout = 1;
  EXPECT_EQ(rules_of(options), "shape.dropout");
  options.shape.dropout = 0;
  options.model.max_positions = INT32_MAX;
  options.shape.seq = INT32_MAX;  // the scores of the second back end do not fit
  EXPECT_EQ(rules_of(options), "shape.too-large");
}

TEST(LedgerOptions, StdoutHoldsOneFormat) {
  LedgerOptions options;
  options.model = find_model("llama-tiny").value.value();
  options.json = true;
  EXPECT_EQ(rules_of(options), "");
  options.csv = true;
  EXPECT_EQ(rules_of(options), "run.one-output-format");
}

}  // namespace
}  // namespace refrain::config
