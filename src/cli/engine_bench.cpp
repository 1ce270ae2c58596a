// `refrain bench`: settings in alternation, one row each; fails loudly where they disagree.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/statistics.h"
#include "cli/engine_commands.h"
#include "cli/spine.h"
#include "plan/choose.h"
#include "report/run_record.h"
#include "train/contest.h"
#include "train/session.h"

namespace refrain::cli {
namespace {

using train::Contender;
using train::ContenderResult;

/// Each setting under each back end and policy; no recompute, which is what overhead is measured
/// against, comes first and once a back end.
std::vector<Contender> contenders_of(const config::BenchOptions& options) {
  std::vector<Contender> contenders;
  for (config::AttentionBackend attention : options.attentions) {
    contenders.push_back({.attention = attention});
    for (const config::RecomputeSetting& setting : options.settings) {
      if (setting.granularity == config::Granularity::kNone) continue;
      for (config::ReplayPolicy replay : options.replays) {
        contenders.push_back({setting, replay, attention});
      }
    }
  }
  return contenders;
}

Bytes most_saved(const ledger::Timeline& timeline) {
  Bytes most;
  for (const ledger::Entry& entry : timeline.entries) {
    most = std::max(most, entry.after[static_cast<size_t>(program::Account::kSavedActivations)]);
  }
  return most;
}

report::BenchRecord record_of(const config::BenchOptions& options, const Contender& contender,
                              const ContenderResult& result, const ledger::Timeline& timeline) {
  const double median = quantile(result.step_ms, 0.5);
  const auto tokens = static_cast<double>(options.shape.tokens() * options.shape.num_micro_batches);
  return {.setting = contender.plan ? contender.name : to_text(contender.setting),
          .replay = std::string(to_text(contender.replay)),
          .attention = std::string(to_text(contender.attention)),
          .tokens_per_s = tokens / median * 1000,
          .step_ms_p50 = median,
          .step_ms_p25 = quantile(result.step_ms, 0.25),
          .step_ms_p75 = quantile(result.step_ms, 0.75),
          .peaks = {result.last.peak, timeline.peak},
          .activations = most_saved(timeline),
          .loss = result.last.loss,
          .grad_hash = *result.last.grad_hash};
}

/// Overhead is the median over rounds of the ratio to `none` in the same round: what slows the
/// machine down for a while slows both.
double overhead_percent(const ContenderResult& result, const ContenderResult& none) {
  std::vector<double> ratios;
  for (size_t r = 0; r < result.step_ms.size(); ++r) {
    ratios.push_back(result.step_ms[r] / none.step_ms[r]);
  }
  return 100 * (quantile(ratios, 0.5) - 1);
}

void check_promises(const std::vector<report::BenchRecord>& records) {
  for (const report::BenchRecord& record : records) {
    RC_CHECK(record.peaks.measured == record.peaks.ledger, "{} {}: {} measured, {} by the ledger",
             record.setting, record.replay, record.peaks.measured.count(),
             record.peaks.ledger.count());
    const auto same = std::find_if(records.begin(), records.end(), [&](const auto& other) {
      return other.attention == record.attention;
    });
    RC_CHECK(record.grad_hash == same->grad_hash && record.loss == same->loss,
             "{} {}: gradients or loss differ from those of {}", record.setting, record.replay,
             same->setting);
  }
}

}  // namespace

int engine_bench(const config::BenchOptions& options) {
  const Checked<train::Windows> windows =
      train::open_windows(options.data, options.model, options.shape.seq);
  tell(windows.findings);
  if (!windows.value) return kExitFindings;
  std::vector<Contender> contenders = contenders_of(options);
  if (options.plan.budget) {
    auto plan = plan::plan_for_budget(options.model, options.shape, options.plan);
    tell(plan.findings);
    if (!plan.value) return kExitFindings;
    contenders.push_back({.attention = options.shape.attention,
                          .plan = std::move(plan.value->step),
                          .name = "plan for " + to_text(*options.plan.budget)});
  }
  train::Contest contest(options, *windows.value, contenders);
  const std::vector<ContenderResult> results = contest.run(options.steps);
  std::vector<report::BenchRecord> records;
  size_t none = 0;
  for (size_t c = 0; c < contenders.size(); ++c) {
    const bool is_none =
        contenders[c].setting.granularity == config::Granularity::kNone && !contenders[c].plan;
    if (is_none) none = c;
    records.push_back(record_of(options, contenders[c], results[c], contest.prepared(c).timeline));
    records.back().overhead_percent = overhead_percent(results[c], results[none]);
    if (options.json) print(report::to_json(records.back()) + "\n");
  }
  if (!options.json) print(report::bench_table(records).to_text());
  check_promises(records);
  return kExitOk;
}

}  // namespace refrain::cli
