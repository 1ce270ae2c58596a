#include "config/run_options.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace refrain::config {
namespace {

constexpr int64_t kMostSteps = int64_t{1} << 40;

void check_count(std::string_view flag, int64_t count, int64_t least, Findings& findings) {
  if (count >= least && count <= kMostSteps) return;
  findings.push_back({"run.count-out-of-range",
                      fmt::format("{} must be from {} to {}: {}", flag, least, kMostSteps, count),
                      fmt::format("give {} N", flag)});
}

void check_optimizer(const OptimizerOptions& o, Findings& findings) {
  const auto check = [&](std::string_view rule, std::string_view flag, double value, bool holds,
                         std::string_view range) {
    if (holds) return;
    findings.push_back({std::string(rule), fmt::format("{} must be {}: {}", flag, range, value),
                        fmt::format("correct {}", flag)});
  };
  // Each comparison is written so that NaN fails.
  check("run.learning-rate", "--lr", o.lr, o.lr > 0 && o.lr <= 1e6, "above 0, at most 1e6");
  check("run.min-learning-rate", "--min-lr", o.min_lr, o.min_lr >= 0 && o.min_lr <= o.lr,
        fmt::format("from 0 to --lr, which is {}", o.lr));
  check("run.weight-decay", "--weight-decay", o.weight_decay,
        o.weight_decay >= 0 && o.weight_decay <= 1e6, "from 0 to 1e6");
  check("run.beta", "--beta1", o.beta1, o.beta1 >= 0 && o.beta1 < 1, "from 0 to below 1");
  check("run.beta", "--beta2", o.beta2, o.beta2 >= 0 && o.beta2 < 1, "from 0 to below 1");
  check_count("--warmup-steps", o.warmup_steps, 0, findings);
  check_count("--lr-decay-steps", o.decay_steps, 1, findings);
  if (o.warmup_steps > o.decay_steps) {
    findings.push_back({"run.warmup-exceeds-decay",
                        fmt::format("--warmup-steps must not exceed --lr-decay-steps: {} and {}",
                                    o.warmup_steps, o.decay_steps),
                        fmt::format("give --lr-decay-steps {} or more", o.warmup_steps)});
  }
}

void check_checkpoint(const CheckpointOptions& o, Findings& findings) {
  check_count("--save-every", o.save_every, 0, findings);
  if (o.save_every > 0 && o.save.empty()) {
    findings.push_back({"run.save-every-needs-save",
                        fmt::format("--save-every needs a folder to save into: --save-every is {}, "
                                    "--save is not given",
                                    o.save_every),
                        "add --save DIR"});
  }
}

}  // namespace

Findings validate(const TrainOptions& options) {
  Findings findings = validate(options.model, options.shape);
  check_count("--steps", options.steps, 1, findings);
  check_count("--eval-every", options.eval.every, 0, findings);
  check_count("--eval-batches", options.eval.batches, 1, findings);
  check_optimizer(options.optimizer, findings);
  check_checkpoint(options.checkpoint, findings);
  return findings;
}

Findings validate(const BenchOptions& options) {
  Findings findings;
  for (const AttentionBackend attention : options.attentions) {
    RunShape shape = options.shape;
    shape.attention = attention;
    findings = validate(options.model, shape);
    if (!findings.empty()) break;  // the others would say the same again
  }
  check_count("--steps", options.steps, 1, findings);
  return findings;
}

Findings validate(const EnginePlanOptions& options) {
  return validate(options.model, options.shape);
}

Findings validate(const CalibrateOptions& options) {
  Findings findings = validate(options.model, options.shape);
  check_count("--rounds", options.rounds, 1, findings);
  return findings;
}

Findings validate(const LedgerOptions& options) {
  Findings findings = validate(options.model, options.shape);
  if (options.json && options.csv) {
    findings.push_back({"run.one-output-format",
                        "stdout holds one format: both --json and --csv are given",
                        "give one of them"});
  }
  return findings;
}

}  // namespace refrain::config
