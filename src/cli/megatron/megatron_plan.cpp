#include "cli/megatron/megatron_plan.h"

#include <fmt/format.h>

#include "cli/megatron/megatron_options.h"
#include "cli/megatron/megatron_view.h"
#include "cli/spine.h"

namespace refrain::cli {
namespace {

/// The finding of a budget that no setting is sure to keep, with levers that were evaluated.
Findings nothing_fits(const MegatronPlanOptions& options, Bytes budget,
                      const plan::PredictedSetting& leanest) {
  const plan::RankBytes& rank = leanest.prediction.fullest();
  Findings findings = {
      {"plan.budget-too-small",
       fmt::format("a budget must hold the leanest setting, {}: {} is less than {} ({} at most), "
                   "which rank {} holds in {}",
                   plan::to_text(leanest.recompute), to_text(budget), to_text(rank.allocated),
                   to_text(rank.upper), rank.rank, rank.phase),
       "change the run: each lever below was evaluated with full:uniform:1"}};
  for (const plan::MegatronLever& lever :
       plan::levers_of(options.run, options.device, budget, options.calibration())) {
    findings.push_back({"plan.lever",
                        fmt::format("with {} the fullest rank holds {}: {}", lever.change,
                                    to_text(lever.peak), plan::to_text(lever.verdict)),
                        fmt::format("a step on {} GPUs would take {:.3g} s +-{:.1f} %",
                                    lever.num_gpus, lever.step_s, lever.error.half),
                        Severity::kNote});
  }
  return findings;
}

int emit_setting(const MegatronPlanOptions& options) {
  const Bytes budget = options.bytes_allowed();
  const plan::PredictedSetting chosen =
      plan::cheapest_that_fits(options.run, options.device, budget, options.calibration());
  if (chosen.prediction.verdict() != plan::Verdict::kFits) {
    tell(nothing_fits(options, budget, chosen));
    return kExitFindings;
  }
  print((options.emit == Emit::kBridge ? plan::bridge_overrides(chosen.recompute)
                                       : plan::megatron_lm_flags(chosen.recompute)) +
        "\n");
  return kExitOk;
}

}  // namespace

int megatron_plan(const std::vector<std::string>& arguments) {
  const Parsed<MegatronPlanOptions> parsed = parse_megatron_plan(arguments);
  if (const auto code = answer(parsed)) return *code;
  const MegatronPlanOptions& options = *parsed.options.value;
  tell(parsed.options.findings);
  if (options.emit != Emit::kNone) return emit_setting(options);
  const Bytes budget = options.bytes_allowed();
  std::vector<plan::PredictedSetting> usual =
      plan::predict_settings(options.run, options.device, budget, plan::usual_settings(options.run),
                             options.calibration());
  plan::PredictedSetting chosen =
      plan::cheapest_that_fits(options.run, options.device, budget, options.calibration(), usual);
  tell(usual.front().prediction.time.notes);
  const bool fits = chosen.prediction.verdict() == plan::Verdict::kFits;
  if (!fits) tell(nothing_fits(options, budget, chosen));
  MegatronView view = {
      .options = options, .budget = budget, .usual = std::move(usual), .chosen = std::move(chosen)};
  if (options.setting) {
    view.current = plan::predict_settings(options.run, options.device, budget, {*options.setting},
                                          options.calibration())
                       .front();
  }
  view.layers =
      plan::plan_layers(options.run, options.device, budget, view.chosen, options.calibration());
  print(options.json ? to_json(view) : to_text(view));
  return fits ? kExitOk : kExitFindings;
}

}  // namespace refrain::cli
