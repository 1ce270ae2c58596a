// `refrain train`: steps until the last one, a signal or a failure; tells each step.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <optional>

#include "base/statistics.h"
#include "cli/engine_commands.h"
#include "cli/spine.h"
#include "plan/choose.h"
#include "report/progress.h"
#include "report/run_record.h"
#include "train/session.h"
#include "train/signals.h"
#include "train/trainer.h"

namespace refrain::cli {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The way of a run: what is told after each step, and what is kept for the summary.
class Run {
 public:
  Run(const config::TrainOptions& options, train::Trainer& trainer)
      : options_(options),
        trainer_(trainer),
        saves_(options.checkpoint.save),
        progress_(std::cout,
                  report::is_terminal(STDOUT_FILENO) ? report::Progress::Style::kBar
                                                     : report::Progress::Style::kLines,
                  {trainer.completed() + 1, options.steps}) {}

  /// The exit code.
  int steps() {
    const train::StopSignals stop;
    const Clock::time_point start = Clock::now();
    while (trainer_.completed() < options_.steps && stop.received() == 0) {
      step();
      if (due(options_.eval.every)) evaluate();
      if (due(options_.checkpoint.save_every)) save();
    }
    if (saved_at_ != trainer_.completed()) save();
    summary_.seconds = ms_since(start) / 1000;
    summarise();
    return stop.received() == 0 ? kExitOk : train::exit_code_of(stop.received());
  }

 private:
  bool due(int64_t every) const { return every > 0 && trainer_.completed() % every == 0; }

  void step() {
    const Clock::time_point start = Clock::now();
    const engine::StepResult result = trainer_.step(/*hash_gradients=*/true);
    const double step_ms = ms_since(start);
    const int64_t tokens = options_.shape.tokens() * options_.shape.num_micro_batches;
    const report::StepRecord record = {.step = trainer_.completed(),
                                       .loss = result.loss,
                                       .grad_norm = result.grad_norm,
                                       .tokens_per_s = static_cast<double>(tokens) / step_ms * 1000,
                                       .step_ms = step_ms,
                                       .peaks = {result.peak, trainer_.prepared().timeline.peak}};
    if (options_.json) {
      print(report::to_json(record) + "\n");
    } else {
      progress_.step(record);
    }
    note(record, *result.grad_hash, tokens);
  }

  void note(const report::StepRecord& record, uint64_t grad_hash, int64_t tokens) {
    step_ms_.push_back(record.step_ms);
    ++summary_.steps;
    summary_.tokens += tokens;
    summary_.loss = record.loss;
    summary_.peaks.measured = std::max(summary_.peaks.measured, record.peaks.measured);
    summary_.peaks.ledger = record.peaks.ledger;
    summary_.grad_hash = grad_hash;
  }

  void evaluate() {
    summary_.eval_loss = trainer_.evaluate(options_.eval.batches);
    if (!options_.json) {
      progress_.end();
      print(fmt::format("held-out loss {:.4f} after step {}\n", *summary_.eval_loss,
                        trainer_.completed()));
    }
  }

  void save() {
    if (options_.checkpoint.save.empty()) return;
    trainer_.save(saves_);
    saved_at_ = trainer_.completed();
  }

  void summarise() {
    progress_.end();
    if (!step_ms_.empty()) summary_.step_ms_p50 = quantile(step_ms_, 0.5);
    if (options_.json) return print(report::to_json(summary_) + "\n");
    print(fmt::format(
        "{} steps, {} tokens in {:.1f} s; loss {:.4f}; peak {} measured, {} by the ledger; "
        "gradient hash {}\n",
        summary_.steps, summary_.tokens, summary_.seconds, summary_.loss,
        to_text(summary_.peaks.measured), to_text(summary_.peaks.ledger),
        report::hash_text(summary_.grad_hash)));
  }

  const config::TrainOptions& options_;
  train::Trainer& trainer_;
  train::CheckpointFolder saves_;
  report::Progress progress_;
  report::SummaryRecord summary_;
  std::vector<double> step_ms_;
  int64_t saved_at_ = 0;
};

/// Takes over the newest checkpoint of --resume. Findings that reject it, and notes.
Findings resume(const config::TrainOptions& options, train::CheckpointFolder& folder,
                train::Trainer& trainer) {
  const Checked<train::Checkpoint> checkpoint = folder.load();
  Findings findings = checkpoint.findings;
  if (!checkpoint.value) return findings;
  const Findings more = trainer.resume(*checkpoint.value);
  findings.insert(findings.end(), more.begin(), more.end());
  if (!rejects(findings) && trainer.completed() >= options.steps) {
    findings.push_back(
        {"resume.nothing-left",
         fmt::format("--steps is the step to end with, counted from the start of the "
                     "run: {} is not after the checkpoint's {}",
                     options.steps, trainer.completed()),
         fmt::format("for {} more steps give --steps {}", options.steps,
                     trainer.completed() + options.steps)});
  }
  return findings;
}

}  // namespace

int engine_train(const config::TrainOptions& options) {
  Checked<train::Windows> windows =
      train::open_windows(options.data, options.model, options.shape.seq);
  tell(windows.findings);
  if (!windows.value) return kExitFindings;
  Checked<plan::PreparedStep> prepared = plan::choose_step(options);
  tell(prepared.findings);
  if (!prepared.value) return kExitFindings;
  train::Trainer trainer(options, *std::move(prepared.value), *std::move(windows.value));
  if (!options.checkpoint.resume.empty()) {
    train::CheckpointFolder folder(options.checkpoint.resume);
    const Findings findings = resume(options, folder, trainer);
    tell(findings);
    if (rejects(findings)) return kExitFindings;
  }
  if (!options.checkpoint.save.empty()) {
    const Findings findings =
        train::CheckpointFolder(options.checkpoint.save).check_start(trainer.completed());
    tell(findings);
    if (rejects(findings)) return kExitFindings;
  }
  return Run(options, trainer).steps();
}

}  // namespace refrain::cli
