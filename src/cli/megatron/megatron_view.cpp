#include "cli/megatron/megatron_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cli/megatron/layer_plan_view.h"
#include "cli/megatron/rank_view.h"
#include "cost/compare.h"
#include "mcore/memory/schedule.h"

namespace refrain::cli {
namespace {

using nlohmann::ordered_json;
using plan::PredictedSetting;
using plan::RankBytes;
using plan::Verdict;

Bytes account(const RankBytes& rank, std::string_view name) {
  for (const allocator::PostingNode& node : rank.accounts) {
    if (node.name == name) return node.blocks;
  }
  return Bytes();
}

std::string ranks_table(const MegatronView& view, const PredictedSetting& setting) {
  TextTable table({{"rank", Align::kRight},
                   {"layers", Align::kRight},
                   {"warm-up", Align::kRight},
                   {"state", Align::kRight},
                   {"saved", Align::kRight},
                   {"peak, GiB", Align::kRight},
                   {"upper", Align::kRight},
                   {"reserved", Align::kRight},
                   {"verdict"},
                   {"highest in"}});
  for (const RankBytes& rank : setting.prediction.ranks) {
    table.add_row({fmt::format("{}", rank.rank),
                   fmt::format("{}", layers_of_rank(view.options.run, rank.rank)),
                   fmt::format("{}", mcore::memory::num_warmup(view.options.run, rank.rank)),
                   gib(account(rank, "state")), gib(account(rank, "saved")), gib(rank.allocated),
                   gib(rank.upper), gib(rank.reserved), std::string(to_text(rank.verdict)),
                   rank.phase});
  }
  return table.to_text();
}

/// Plus or minus, seconds: with a measured step what the cost against it may be off, else what half
/// of such predictions are off by.
double step_band_s(const MegatronView& view, const PredictedSetting& setting) {
  const cost::StepTime& time = setting.prediction.time;
  if (const auto& anchor = view.options.anchor) {
    return cost::compare(anchor->control, time).band / 100 * anchor->control.step_s;
  }
  return cost::expected_error(view.options.run, time).half / 100 * time.step_s;
}

std::string scale_of(const cost::Calibration& calibration) {
  return calibration.host == 1 ? fmt::format("GPU work x {:.3f}", calibration.gpu)
                               : fmt::format("host work x {:.3f}", calibration.host);
}

/// Where the seconds come from, and what stands behind +-.
std::string times_text(const MegatronView& view) {
  if (const auto& anchor = view.options.anchor) {
    return fmt::format(
        "times are scaled to a measured step of {:.0f} ms under {} ({}); +- of a step is how far "
        "its cost against that may be off\n",
        1e3 * anchor->measured_s, plan::to_text(anchor->setting), scale_of(anchor->calibration));
  }
  const cost::ExpectedError error =
      cost::expected_error(view.options.run, view.usual.front().prediction.time);
  return fmt::format(
      "times come from the configuration alone: half of such steps are within {:.1f} % (+-), nine "
      "of ten within {:.0f} %; --anchor MS:SETTING scales them to a step that you measured\n",
      error.half, error.most);
}

std::string cost_of(const MegatronView& view, const PredictedSetting& setting) {
  const cost::RelativeCost cost =
      cost::compare(view.usual.front().prediction.time, setting.prediction.time);
  return fmt::format("{:+.1f} +-{:.1f} %", cost.percent, cost.band);
}

void add_setting(const MegatronView& view, const std::string& name, const PredictedSetting& setting,
                 TextTable& table) {
  const RankBytes& fullest = setting.prediction.fullest();
  table.add_row(
      {name, gib(fullest.allocated), gib(fullest.upper), fmt::format("{}", fullest.rank),
       std::string(to_text(setting.prediction.verdict())),
       fmt::format("{:.3f} +-{:.3f}", setting.prediction.time.step_s, step_band_s(view, setting)),
       cost_of(view, setting), fmt::format("{:.0f}", setting.prediction.time.tflops_per_gpu)});
}

std::string settings_table(const MegatronView& view) {
  TextTable table({{"setting"},
                   {"peak, GiB", Align::kRight},
                   {"upper", Align::kRight},
                   {"rank", Align::kRight},
                   {"verdict"},
                   {"step, s", Align::kRight},
                   {"recompute", Align::kRight},
                   {"TFLOP/s", Align::kRight}});
  for (const PredictedSetting& setting : view.usual) {
    add_setting(view, plan::to_text(setting.recompute), setting, table);
  }
  if (view.current) {
    add_setting(view, "yours: " + plan::to_text(view.current->recompute), *view.current, table);
  }
  add_setting(view, "chosen: " + plan::to_text(view.chosen.recompute), view.chosen, table);
  return table.to_text();
}

/// What to do before anything is recomputed.
std::string fragmentation_text(const MegatronView& view) {
  const PredictedSetting& setting = view.current ? *view.current : view.usual.front();
  for (const RankBytes& rank : setting.prediction.ranks) {
    if (!rank.fails_by_fragmentation) continue;
    return fmt::format(
        "{} on rank {}: what is allocated fits, and a request still fails, as free memory lies in "
        "pieces. {}\n",
        plan::to_text(setting.recompute), rank.rank,
        rank.expandable_segments_fit
            ? "First set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: with it the run fits."
            : "expandable_segments:True alone does not help.");
  }
  return "";
}

std::string chosen_text(const MegatronView& view) {
  if (view.chosen.prediction.verdict() != Verdict::kFits) {
    return "no setting of Megatron's is sure to fit; the leanest is shown as chosen. Recompute "
           "frees activations only: state is divided by --tp, --pp and the distributed "
           "optimizer.\n";
  }
  const std::string flags = plan::megatron_lm_flags(view.chosen.recompute);
  return fmt::format("Megatron-LM: {}\nBridge: {}\n", flags.empty() ? "no recompute flags" : flags,
                     plan::bridge_overrides(view.chosen.recompute));
}

ordered_json setting_json(const MegatronView& view, const PredictedSetting& setting) {
  const cost::RelativeCost cost =
      cost::compare(view.usual.front().prediction.time, setting.prediction.time);
  ordered_json ranks = ordered_json::array();
  for (const RankBytes& rank : setting.prediction.ranks) {
    ranks.push_back(rank_json(rank));
  }
  return {{"setting", plan::to_text(setting.recompute)},
          {"verdict", to_text(setting.prediction.verdict())},
          {"step_s", setting.prediction.time.step_s},
          {"step_s_band", step_band_s(view, setting)},
          {"tflops_per_gpu", setting.prediction.time.tflops_per_gpu},
          {"recompute_percent", cost.percent},
          {"recompute_percent_band", cost.band},
          {"megatron_lm", plan::megatron_lm_flags(setting.recompute)},
          {"bridge", plan::bridge_overrides(setting.recompute)},
          {"ranks", std::move(ranks)}};
}

/// Of the settings' step_s and step_s_band.
ordered_json times_json(const MegatronView& view) {
  const auto& anchor = view.options.anchor;
  const cost::ExpectedError error =
      cost::expected_error(view.options.run, view.usual.front().prediction.time);
  ordered_json object = {{"anchored", anchor.has_value()},
                         {"expected_error_half_percent", error.half},
                         {"expected_error_most_percent", error.most}};
  if (!anchor) return object;
  object["measured_s"] = anchor->measured_s;
  object["setting"] = plan::to_text(anchor->setting);
  object["gpu_factor"] = anchor->calibration.gpu;
  object["host_factor"] = anchor->calibration.host;
  return object;
}

}  // namespace

std::string to_text(const MegatronView& view) {
  const PredictedSetting& shown = view.current ? *view.current : view.usual.front();
  std::string text = headline(view.options);
  text += fmt::format("\n{}: every pipeline rank, GiB\n{}\n", plan::to_text(shown.recompute),
                      ranks_table(view, shown));
  text +=
      settings_table(view) + times_text(view) + "\n" + fragmentation_text(view) + chosen_text(view);
  if (view.layers) {
    const double band_s = step_band_s(view, {view.chosen.recompute, view.layers->prediction});
    text += layer_plan_text(view.options.run, *view.layers, plan::to_text(view.chosen.recompute),
                            band_s);
  }
  return text;
}

std::string to_json(const MegatronView& view) {
  ordered_json usual = ordered_json::array();
  for (const PredictedSetting& setting : view.usual) usual.push_back(setting_json(view, setting));
  const ordered_json object = {
      {"model", view.options.model},
      {"hardware", view.options.device.name},
      {"budget_bytes", view.budget.count()},
      {"times", times_json(view)},
      {"chosen", setting_json(view, view.chosen)},
      {"layer_plan",
       view.layers ? layer_plan_json(view.options.run, *view.layers) : ordered_json()},
      {"current", view.current ? setting_json(view, *view.current) : ordered_json()},
      {"settings", std::move(usual)}};
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace refrain::cli
