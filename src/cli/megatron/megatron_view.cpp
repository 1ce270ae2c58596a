#include "cli/megatron/megatron_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "cost/compare.h"
#include "mcore/memory/schedule.h"

namespace refrain::cli {
namespace {

using nlohmann::ordered_json;
using plan::PredictedSetting;
using plan::RankBytes;
using plan::Verdict;

std::string gib(Bytes bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes.count()) / 0x1p30);
}

int64_t layers_of(const mcore::Run& run, int64_t rank) {
  int64_t layers = 0;
  for (int64_t stage = 0; stage < run.parallel.virtual_stages; ++stage) {
    layers += mcore::stage_layers(run, rank, stage).count;
  }
  return layers;
}

Bytes account(const RankBytes& rank, std::string_view name) {
  for (const allocator::PostingNode& node : rank.accounts) {
    if (node.name == name) return node.blocks;
  }
  return Bytes();
}

std::string headline(const MegatronView& view) {
  const mcore::Run& run = view.options.run;
  const mcore::Parallel& p = run.parallel;
  return fmt::format(
      "{}, {} layers, on {} x {}: TP {} PP {} VPP {} CP {} EP {} DP {}\n"
      "{} micro-batches of {} x {} tokens a step; budget {} a device\n",
      view.options.model, run.model.layers.size(), p.num_gpus, view.options.device.title, p.tensor,
      p.pipeline, p.virtual_stages, p.context, p.expert, p.data, mcore::num_micro_batches(run),
      run.batch.micro, run.batch.seq, to_text(view.budget));
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
    table.add_row(
        {fmt::format("{}", rank.rank), fmt::format("{}", layers_of(view.options.run, rank.rank)),
         fmt::format("{}", mcore::memory::num_warmup(view.options.run, rank.rank)),
         gib(account(rank, "state")), gib(account(rank, "saved")), gib(rank.allocated),
         gib(rank.upper), gib(rank.reserved), std::string(to_text(rank.verdict)), rank.phase});
  }
  return table.to_text();
}

std::string cost_of(const MegatronView& view, const PredictedSetting& setting) {
  const cost::RelativeCost cost =
      cost::compare(view.usual.front().prediction.time, setting.prediction.time);
  return fmt::format("{:+.1f} +-{:.1f} %", cost.percent, cost.band);
}

void add_setting(const MegatronView& view, const std::string& name, const PredictedSetting& setting,
                 TextTable& table) {
  const RankBytes& fullest = setting.prediction.fullest();
  table.add_row({name, gib(fullest.allocated), gib(fullest.upper), fmt::format("{}", fullest.rank),
                 std::string(to_text(setting.prediction.verdict())),
                 fmt::format("{:.3f}", setting.prediction.time.step_s), cost_of(view, setting),
                 fmt::format("{:.0f}", setting.prediction.time.tflops_per_gpu)});
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
  return fmt::format("Megatron-LM: {}\nBridge: {}\n",
                     plan::megatron_lm_flags(view.chosen.recompute),
                     plan::bridge_overrides(view.chosen.recompute));
}

ordered_json tree_json(const std::vector<allocator::PostingNode>& nodes) {
  ordered_json object = ordered_json::object();
  for (const allocator::PostingNode& node : nodes) {
    object[node.name] = {{"bytes", node.blocks.count()}};
    if (!node.parts.empty()) object[node.name]["parts"] = tree_json(node.parts);
  }
  return object;
}

ordered_json setting_json(const MegatronView& view, const PredictedSetting& setting) {
  const cost::RelativeCost cost =
      cost::compare(view.usual.front().prediction.time, setting.prediction.time);
  ordered_json ranks = ordered_json::array();
  for (const RankBytes& rank : setting.prediction.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"peak_bytes", rank.allocated.count()},
                     {"peak_upper_bytes", rank.upper.count()},
                     {"reserved_bytes", rank.reserved.count()},
                     {"phase", rank.phase},
                     {"verdict", to_text(rank.verdict)},
                     {"fails_by_fragmentation", rank.fails_by_fragmentation},
                     {"expandable_segments_fit", rank.expandable_segments_fit},
                     {"accounts", tree_json(rank.accounts)}});
  }
  return {{"setting", plan::to_text(setting.recompute)},
          {"verdict", to_text(setting.prediction.verdict())},
          {"step_s", setting.prediction.time.step_s},
          {"tflops_per_gpu", setting.prediction.time.tflops_per_gpu},
          {"recompute_percent", cost.percent},
          {"recompute_percent_band", cost.band},
          {"megatron_lm", plan::megatron_lm_flags(setting.recompute)},
          {"bridge", plan::bridge_overrides(setting.recompute)},
          {"ranks", std::move(ranks)}};
}

}  // namespace

std::string to_text(const MegatronView& view) {
  const PredictedSetting& shown = view.current ? *view.current : view.usual.front();
  std::string text = headline(view);
  text += fmt::format("\n{}: every pipeline rank, GiB\n{}\n", plan::to_text(shown.recompute),
                      ranks_table(view, shown));
  text += settings_table(view) + "\n" + fragmentation_text(view) + chosen_text(view);
  return text;
}

std::string to_json(const MegatronView& view) {
  ordered_json usual = ordered_json::array();
  for (const PredictedSetting& setting : view.usual) usual.push_back(setting_json(view, setting));
  const ordered_json object = {
      {"model", view.options.model},
      {"hardware", view.options.device.name},
      {"budget_bytes", view.budget.count()},
      {"chosen", setting_json(view, view.chosen)},
      {"current", view.current ? setting_json(view, *view.current) : ordered_json()},
      {"settings", std::move(usual)}};
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace refrain::cli
