#include "cli/options.h"

#include <gtest/gtest.h>

#include "config/scan.h"

namespace refrain::cli {
namespace {

using Words = std::vector<std::string>;

/// "refrain-like --flags here" as words; no quoting.
Words words(const std::string& line) {
  Words result;
  for (const std::string& word : config::split(line, ' ')) {
    if (!word.empty()) result.push_back(word);
  }
  return result;
}

template <class Options>
std::string rules_of(const Parsed<Options>& parsed) {
  EXPECT_EQ(parsed.options.value.has_value(), !rejects(parsed.options.findings));
  std::string rules;
  for (const Finding& finding : parsed.options.findings) {
    rules += (rules.empty() ? "" : " ") + finding.rule;
  }
  return rules;
}

config::TrainOptions train(const std::string& line) {
  const auto parsed = parse_train(words(line));
  EXPECT_TRUE(parsed.options.value) << line << "\n" << to_text(parsed.options.findings);
  return parsed.options.value.value_or(config::TrainOptions{});
}

std::string train_rules(const std::string& line) { return rules_of(parse_train(words(line))); }

std::string train_setting(const std::string& line) { return to_text(train(line).recompute); }

TEST(ParseTrain, DefaultsTrainASmallLlama) {
  const config::TrainOptions options = train("");
  EXPECT_EQ(options.model.name, "llama-15m");
  EXPECT_EQ(options.steps, 20);
  EXPECT_EQ(options.shape.seq, 256);
  EXPECT_EQ(options.shape.micro_batch, 4);
  EXPECT_EQ(options.shape.num_micro_batches, 1);
  EXPECT_EQ(options.data.seed, 1234u);
  EXPECT_GE(options.shape.threads, 1);
  EXPECT_EQ(to_text(options.recompute), "none");
  EXPECT_EQ(options.replay, config::ReplayPolicy::kDemand);
  EXPECT_TRUE(options.data.path.empty());
}

TEST(ParseTrain, ReadsEveryFlagOfTheContract) {
  const config::TrainOptions o = train(
      "--model gpt-tiny --data some/text --steps 7 --seq 64 --micro-batch 2 --global-batch 6 "
      "--recompute full:block:2 --replay region --attention unfused --dtype bf16 --dropout 0.1 "
      "--seed 9 --threads 3 --save a --resume b --json --lr 1e-3 --min-lr 1e-5 --warmup-steps 2 "
      "--lr-decay-steps 50 "
      "--weight-decay 0.01 --beta1 0.8 --beta2 0.99 --clip-grad 1.5 --eval-every 3 "
      "--eval-batches 4 --save-every 5");
  EXPECT_EQ(o.model.name, "gpt-tiny");
  EXPECT_EQ(o.data.path, "some/text");
  EXPECT_EQ(o.steps, 7);
  EXPECT_EQ(o.shape.seq, 64);
  EXPECT_EQ(o.shape.micro_batch, 2);
  EXPECT_EQ(o.shape.num_micro_batches, 3);
  EXPECT_EQ(to_text(o.recompute), "full:block:2");
  EXPECT_EQ(o.replay, config::ReplayPolicy::kRegion);
  EXPECT_EQ(o.shape.attention, config::AttentionBackend::kUnfused);
  EXPECT_EQ(o.shape.precision, config::Precision::kBf16);
  EXPECT_EQ(o.shape.dropout, 0.1);
  EXPECT_EQ(o.data.seed, 9u);
  EXPECT_EQ(o.shape.threads, 3);
  EXPECT_EQ(o.checkpoint.save, "a");
  EXPECT_EQ(o.checkpoint.resume, "b");
  EXPECT_TRUE(o.json);
  EXPECT_EQ(o.optimizer.lr, 1e-3);
  EXPECT_EQ(o.optimizer.min_lr, 1e-5);
  EXPECT_EQ(o.optimizer.warmup_steps, 2);
  EXPECT_EQ(o.optimizer.decay_steps, 50);
  EXPECT_EQ(o.optimizer.weight_decay, 0.01);
  EXPECT_EQ(o.optimizer.beta1, 0.8);
  EXPECT_EQ(o.optimizer.beta2, 0.99);
  EXPECT_EQ(o.shape.clip_grad, 1.5);
  EXPECT_EQ(o.eval.every, 3);
  EXPECT_EQ(o.eval.batches, 4);
  EXPECT_EQ(o.checkpoint.save_every, 5);
}

TEST(ParseTrain, EverySpellingOfASettingMeansTheSame) {
  for (const char* line :
       {"--recompute selective:core_attn,layernorm",
        "recompute_granularity=selective recompute_modules=[core_attn,layernorm]",
        "model.recompute_granularity=selective model.recompute_modules=[core_attn,layernorm]",
        "cfg.model.recompute_granularity=selective "
        "cfg.model.recompute_modules=[layernorm,core_attn]",
        "recompute_granularity=selective --recompute_modules core_attn layernorm",
        "--recompute_modules core_attn layernorm recompute_granularity=selective",
        "--recompute-granularity selective --recompute-modules core_attn,layernorm",
        "--recompute_granularity=selective --recompute_modules=[core_attn,layernorm] --steps 3",
        "recompute_granularity=selective recompute_modules=[core_attn,layernorm] "
        "recompute_method=null recompute_num_layers=null"}) {
    EXPECT_EQ(train_setting(line), "selective:core_attn,layernorm") << line;
  }
  for (const char* line :
       {"--recompute full:uniform:4",
        "--recompute-granularity full --recompute-method uniform --recompute-num-layers 4",
        "--recompute_granularity full --recompute_method uniform --recompute_num_layers 4",
        "recompute_granularity=full recompute_method=uniform recompute_num_layers=4",
        "recompute_granularity=full recompute_modules=null model.recompute_method=uniform "
        "recompute_num_layers=4"}) {
    EXPECT_EQ(train_setting(line), "full:uniform:4") << line;
  }
  EXPECT_EQ(train_setting("recompute_granularity=null"), "none");
}

TEST(ParseTrain, MegatronsDefaultModulesAreNoted) {
  EXPECT_EQ(train_setting("recompute_granularity=selective"), "selective:core_attn");
  EXPECT_EQ(train_rules("recompute_granularity=selective"), "recompute.default-modules");
  EXPECT_EQ(train_rules("recompute_granularity=selective recompute_modules=[]"),
            "recompute.no-labels");
}

TEST(ParseTrain, TwoSpellingsAtOnceAreAFinding) {
  EXPECT_EQ(train_rules("--recompute none recompute_granularity=full"), "recompute.two-spellings");
  EXPECT_EQ(train_rules("--recompute selective:mlp --recompute-modules mlp"),
            "recompute.two-spellings");
}

TEST(ParseTrain, TheGlobalBatchIsAMultipleOfTheMicroBatch) {
  EXPECT_EQ(train("--micro-batch 4 --global-batch 12").shape.num_micro_batches, 3);
  EXPECT_EQ(train("--micro-batch 4 --global-batch 4").shape.num_micro_batches, 1);
  for (const char* batch : {"13", "3", "0", "-4"}) {
    EXPECT_EQ(train_rules("--micro-batch 4 --global-batch " + std::string(batch)),
              "shape.global-batch")
        << batch;
  }
  EXPECT_EQ(train_rules("--micro-batch 0 --global-batch 4"), "shape.size-out-of-range");
}

TEST(ParseTrain, TheDefaultSequenceFitsTheModel) {
  EXPECT_EQ(train("--model gpt-tiny").shape.seq, 128);
  EXPECT_EQ(train("--model llama-tiny").shape.seq, 256);
  EXPECT_EQ(train_rules("--model gpt-tiny --seq 129"), "shape.sequence-exceeds-positions");
}

TEST(ParseTrain, TheLastLearningRateFollowsTheFirst) {
  EXPECT_DOUBLE_EQ(train("--lr 1e-5").optimizer.min_lr, 1e-6);
  EXPECT_EQ(train_rules("--lr 1e-5 --min-lr 1e-4"), "run.min-learning-rate");
}

TEST(ParseTrain, UsersGetTwoPrecisions) {
  EXPECT_EQ(train_rules("--dtype f64"), "cli.unknown-choice");
  EXPECT_EQ(train("--dtype f32").shape.precision, config::Precision::kF32);
}

TEST(ParseTrain, FindingsOfEveryPhaseAreToldTogether) {
  EXPECT_EQ(train_rules("--modle x --steps 0 --recompute selective:moe --dropout 1 --seq x"),
            "cli.unknown-flag cli.not-a-number recompute.label-not-there-yet shape.dropout "
            "run.count-out-of-range");
}

TEST(ParseTrain, AnUnknownModelIsNotJudgedFurther) {
  EXPECT_EQ(train_rules("--model llama-tny --seq 999999"), "model.unknown-name");
}

TEST(ParseBench, DefaultsSweepTheSettings) {
  const auto parsed = parse_bench({});
  ASSERT_TRUE(parsed.options.value) << to_text(parsed.options.findings);
  EXPECT_GE(parsed.options.value->settings.size(), 6u);
  EXPECT_EQ(to_text(parsed.options.value->settings[0]), "none");
  EXPECT_EQ(parsed.options.value->replays.size(), 1u);
  EXPECT_EQ(parsed.options.value->attentions.size(), 1u);
}

TEST(ParseBench, ReadsSettingsPoliciesAndBackEnds) {
  const auto parsed = parse_bench(
      words("--model llama-tiny --settings none;full:uniform:1;selective:mlp; --replay both "
            "--attention both --rounds 15"));
  ASSERT_TRUE(parsed.options.value) << to_text(parsed.options.findings);
  const config::BenchOptions& options = *parsed.options.value;
  ASSERT_EQ(options.settings.size(), 3u);
  EXPECT_EQ(to_text(options.settings[2]), "selective:mlp");
  EXPECT_EQ(options.replays.size(), 2u);
  EXPECT_EQ(options.attentions.size(), 2u);
  EXPECT_EQ(options.steps, 15);
  EXPECT_EQ(parse_bench(words("--attention unfused")).options.value->shape.attention,
            config::AttentionBackend::kUnfused);
}

TEST(ParseBench, EveryBrokenSettingIsTold) {
  EXPECT_EQ(rules_of(parse_bench(words("--settings non;selective:mpl;none"))),
            "recompute.unknown-setting recompute.unknown-label");
  EXPECT_EQ(rules_of(parse_bench({"--settings", ";"})), "run.no-settings");
}

TEST(ParseLedger, TakesTheShapeFlagsOfTrain) {
  const auto parsed = parse_ledger(
      words("--model llama3-70b --seq 4096 --micro-batch 1 --global-batch 8 --dtype bf16 "
            "--attention unfused --dropout 0.1 --clip-grad 1 --threads 8 --replay region "
            "recompute_granularity=full recompute_method=block recompute_num_layers=40 --csv"));
  ASSERT_TRUE(parsed.options.value) << to_text(parsed.options.findings);
  EXPECT_EQ(parsed.options.value->shape.num_micro_batches, 8);
  EXPECT_EQ(to_text(parsed.options.value->recompute), "full:block:40");
  EXPECT_TRUE(parsed.options.value->csv);
  EXPECT_EQ(rules_of(parse_ledger(words("--json --csv"))), "run.one-output-format");
}

TEST(ParseLedger, HasTheSameDefaultShapeAsTrain) {
  const config::RunShape of_train = train("").shape;
  const config::RunShape of_ledger = parse_ledger({}).options.value.value().shape;
  EXPECT_EQ(of_train.seq, of_ledger.seq);
  EXPECT_EQ(of_train.micro_batch, of_ledger.micro_batch);
  EXPECT_EQ(of_train.clip_grad, of_ledger.clip_grad);
  EXPECT_EQ(of_train.threads, of_ledger.threads);
  EXPECT_EQ(of_train.attention, of_ledger.attention);
}

TEST(Help, IsGivenBeforeAnythingIsJudged) {
  EXPECT_TRUE(parse_train(words("--model nonsense --help")).help);
  EXPECT_TRUE(parse_bench({"-h"}).help);
  const auto help = parse_ledger({"--help"}).help;
  ASSERT_TRUE(help);
  EXPECT_NE(help->find("Examples:"), std::string::npos);
}

}  // namespace
}  // namespace refrain::cli
