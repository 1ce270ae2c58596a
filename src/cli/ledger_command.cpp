// `refrain ledger`: lowers one setting, replays it as bytes, prints what it holds and what it buys;
// with --mcore what the ranks of a Megatron run hold.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/ledger_view.h"
#include "cli/megatron/megatron_ledger.h"
#include "cli/megatron/megatron_options.h"
#include "cli/options.h"
#include "cli/spine.h"
#include "plan/prepare.h"

namespace refrain::cli {
namespace {

using config::Granularity;
using config::LedgerOptions;
using config::RecomputeSetting;

// Below this share of the peak a label is not worth its time.
constexpr double kLittle = 0.01;

plan::PreparedStep prepared(const LedgerOptions& options, const RecomputeSetting& setting) {
  return plan::prepare(options.model, options.shape, setting, options.replay);
}

void note_a_gain_too_small(std::string_view what, Bytes with, Bytes without, Findings& notes) {
  const Bytes freed = without - with;
  if (freed <= Bytes()) {
    notes.push_back({"ledger.frees-nothing",
                     fmt::format("{} should lower the peak: {} with it, {} without", what,
                                 to_text(with), to_text(without)),
                     "leave it out: it frees nothing here", Severity::kNote});
  } else if (static_cast<double>(freed.count()) < kLittle * static_cast<double>(without.count())) {
    notes.push_back(
        {"ledger.frees-little",
         fmt::format("{} frees next to nothing: {} of {}", what, to_text(freed), to_text(without)),
         "add labels that free more; see refrain bench", Severity::kNote});
  }
}

/// What each label adds to the others, and full to none, judged by the peaks.
Findings judge_gain(const LedgerOptions& options, Bytes peak, Bytes peak_without) {
  Findings notes;
  const RecomputeSetting& setting = options.recompute;
  if (setting.granularity == Granularity::kFull) {
    note_a_gain_too_small(to_text(setting), peak, peak_without, notes);
  }
  for (const config::Label label : setting.labels) {
    RecomputeSetting others = setting;
    std::erase(others.labels, label);
    const bool alone = others.labels.empty();
    note_a_gain_too_small(config::to_text(label), peak,
                          alone ? peak_without : prepared(options, others).timeline.peak, notes);
  }
  return notes;
}

}  // namespace

int ledger_command(const std::vector<std::string>& arguments) {
  if (names_mcore(arguments)) return megatron_ledger(arguments);
  const Parsed<LedgerOptions> parsed = parse_ledger(arguments);
  if (const auto code = answer(parsed)) return *code;
  const LedgerOptions& options = *parsed.options.value;

  const plan::PreparedStep step = prepared(options, options.recompute);
  const Bytes peak = step.timeline.peak;
  const bool recomputes = options.recompute.granularity != Granularity::kNone;
  const Bytes peak_without = recomputes ? prepared(options, {}).timeline.peak : peak;
  Findings notes = parsed.options.findings;
  for (Finding& note : judge_gain(options, peak, peak_without)) {
    notes.push_back(std::move(note));
  }
  tell(notes);
  const LedgerView view = {options, step, peak_without, notes};
  print(options.json ? to_json(view) : options.csv ? to_csv(view) : to_text(view));
  return kExitOk;
}

}  // namespace refrain::cli
