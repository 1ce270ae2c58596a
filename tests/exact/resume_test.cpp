// Stopping and going on changes no bit, whatever is recomputed before and after.

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/memory/counting_allocator.h"
#include "plan/choose.h"
#include "tiny_models.h"
#include "train/disk/temp_folder.h"
#include "train/session.h"
#include "train/trainer.h"

namespace refrain::exact {
namespace {

using config::Granularity;
using config::RecomputeSetting;

class Resume : public testing::Test {
 protected:
  Resume() {
    std::string text;
    for (int i = 0; i < 20000; ++i) text += static_cast<char>('a' + i * i % 23);
    train::write_file(folder_ / "text.txt", text);
    options_.model = tiny_llama();
    options_.model.vocab = 256;
    options_.shape = {.micro_batch = 2, .seq = 13, .num_micro_batches = 2, .dropout = 0.1};
    options_.data.path = (folder_ / "text.txt").string();
    options_.steps = 6;
    options_.optimizer.warmup_steps = 3;
    options_.optimizer.decay_steps = 5;
  }

  train::Trainer trainer(const config::TrainOptions& options) {
    Checked<train::Windows> windows =
        train::open_windows(options.data, options.model, options.shape.seq);
    EXPECT_TRUE(windows.value) << to_text(windows.findings);
    Checked<plan::PreparedStep> prepared = plan::choose_step(options);
    EXPECT_TRUE(prepared.value) << to_text(prepared.findings);
    return {options, *std::move(prepared.value), *std::move(windows.value)};
  }

  static std::vector<uint64_t> run(train::Trainer& trainer, int steps) {
    std::vector<uint64_t> hashes;
    for (int s = 0; s < steps; ++s) hashes.push_back(*trainer.step(true).grad_hash);
    return hashes;
  }

  train::TempFolder folder_;
  config::TrainOptions options_;
};

TEST_F(Resume, GoesOnBitwiseUnderAnotherSettingBackEndOfReplayAndThreads) {
  train::Trainer whole = trainer(options_);
  const std::vector<uint64_t> expected = run(whole, 6);
  train::CheckpointFolder saves(folder_ / "saves");
  {
    train::Trainer first = trainer(options_);
    const std::vector<uint64_t> hashes = run(first, 3);
    EXPECT_EQ(hashes, std::vector(expected.begin(), expected.begin() + 3));
    first.save(saves);
  }
  const Checked<train::Checkpoint> checkpoint = saves.load();
  ASSERT_TRUE(checkpoint.value);
  for (const RecomputeSetting& setting : all_settings()) {
    SCOPED_TRACE(to_text(setting));
    config::TrainOptions other = options_;
    other.recompute = setting;
    other.replay = config::ReplayPolicy::kRegion;
    other.shape.threads = 2;
    train::Trainer second = trainer(other);
    EXPECT_TRUE(second.resume(*checkpoint.value).empty());
    EXPECT_EQ(second.completed(), 3);
    EXPECT_EQ(run(second, 3), std::vector(expected.begin() + 3, expected.end()));
  }
}

TEST_F(Resume, KeepsBf16WeightsAndTheirMasters) {
  options_.shape.precision = config::Precision::kBf16;
  train::Trainer whole = trainer(options_);
  const std::vector<uint64_t> expected = run(whole, 4);
  train::CheckpointFolder saves(folder_ / "saves");
  train::Trainer first = trainer(options_);
  run(first, 2);
  first.save(saves);
  train::Trainer second = trainer(options_);
  ASSERT_TRUE(second.resume(*saves.load().value).empty());
  EXPECT_EQ(run(second, 2), std::vector(expected.begin() + 2, expected.end()));
}

TEST_F(Resume, OfAnotherModelIsAFindingAndChangesNothing) {
  train::CheckpointFolder saves(folder_ / "saves");
  train::Trainer first = trainer(options_);
  run(first, 1);
  first.save(saves);
  options_.model.ffn_hidden += 8;
  train::Trainer other = trainer(options_);
  const Findings findings = other.resume(*saves.load().value);
  ASSERT_TRUE(rejects(findings));
  EXPECT_EQ(findings[0].rule, "checkpoint.other-model");
  EXPECT_EQ(other.completed(), 0);
}

TEST_F(Resume, EvaluationChangesNoBitAndRepeats) {
  train::Trainer plain = trainer(options_);
  const std::vector<uint64_t> expected = run(plain, 3);
  train::Trainer evaluated = trainer(options_);
  std::vector<uint64_t> hashes = run(evaluated, 2);
  const double loss = evaluated.evaluate(4);
  EXPECT_EQ(evaluated.evaluate(4), loss);
  EXPECT_NEAR(loss, 5.5, 0.3);  // near ln 256 after two small steps
  hashes.push_back(run(evaluated, 1)[0]);
  EXPECT_EQ(hashes, expected);
}

TEST_F(Resume, LearnsThePattern) {
  options_.shape.dropout = 0;
  options_.optimizer = {.lr = 1e-2, .min_lr = 1e-3, .decay_steps = 200};
  train::Trainer learner = trainer(options_);
  const double before = learner.evaluate(4);
  for (int s = 0; s < 60; ++s) learner.step(false);
  EXPECT_LT(learner.evaluate(4), before - 2);  // 23 letters, each follows from the last ones
}

}  // namespace
}  // namespace refrain::exact
