#include "cli/megatron/layer_plan_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text_table.h"
#include "cli/megatron/rank_view.h"

namespace refrain::cli {
namespace {

using nlohmann::ordered_json;

/// Layers of one rank that are treated alike: "0-2, 16-17".
struct Treated {
  mcore::Recompute recompute;
  std::vector<int64_t> layers;
};

std::vector<Treated> treated_on(const mcore::Run& run, const plan::LayerPlan& plan, int64_t rank) {
  std::vector<Treated> groups;
  for (int64_t chunk = 0; chunk < run.parallel.virtual_stages; ++chunk) {
    const mcore::StageLayers stage = mcore::stage_layers(run, rank, chunk);
    for (int64_t i = stage.first; i < stage.first + stage.count; ++i) {
      auto group = std::find_if(groups.begin(), groups.end(), [&](const Treated& each) {
        return each.recompute == plan.layers[i];
      });
      if (group == groups.end()) group = groups.insert(groups.end(), {plan.layers[i], {}});
      group->layers.push_back(i);
    }
  }
  return groups;
}

std::string ranges(const std::vector<int64_t>& layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    if (!text.empty()) text += ",";
    text += end - i > 1 ? fmt::format("{}-{}", layers[i], layers[end - 1])
                        : fmt::format("{}", layers[i]);
    i = end;
  }
  return text;
}

/// A layer alone is recomputed whole or not; how many at a time is no question.
std::string name_of(const mcore::Recompute& recompute) {
  return recompute.method == mcore::Recompute::Method::kUniform ? "full" : plan::to_text(recompute);
}

std::string treatment_text(const mcore::Run& run, const plan::LayerPlan& plan, int64_t rank) {
  std::string text;
  for (const Treated& group : treated_on(run, plan, rank)) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {}", name_of(group.recompute), ranges(group.layers));
  }
  return text;
}

double percent_of_setting(const plan::LayerPlan& plan) {
  return 100 * (plan.prediction.time.step_s / plan.setting_step_s - 1);
}

}  // namespace

std::string layer_plan_text(const mcore::Run& run, const plan::LayerPlan& plan,
                            const std::string& setting, double band_s) {
  std::string text = fmt::format(
      "\nplan, layer by layer: a step takes {:.3f} +-{:.3f} s, {:+.1f} % against {}; no plan of "
      "these choices takes less than {:.3f} s (gap {:.1f} %)\n",
      plan.prediction.time.step_s, band_s, percent_of_setting(plan), setting, plan.lower_bound_s,
      100 * plan.gap());
  TextTable table({{"rank", Align::kRight},
                   {"peak, GiB", Align::kRight},
                   {"upper", Align::kRight},
                   {"reserved", Align::kRight},
                   {"what is recomputed of which layers"}});
  for (const plan::RankBytes& rank : plan.prediction.ranks) {
    table.add_row({fmt::format("{}", rank.rank), gib(rank.allocated), gib(rank.upper),
                   gib(rank.reserved), treatment_text(run, plan, rank.rank)});
  }
  return text + table.to_text() +
         fmt::format(
             "{} choices a layer were measured, {} proposals replayed. Megatron says the "
             "same of every layer: the nearest that it can do is {}.\n",
             plan.num_examined, plan.num_replays, setting);
}

ordered_json layer_plan_json(const mcore::Run& run, const plan::LayerPlan& plan) {
  ordered_json ranks = ordered_json::array();
  for (const plan::RankBytes& rank : plan.prediction.ranks) {
    ordered_json groups = ordered_json::array();
    for (const Treated& group : treated_on(run, plan, rank.rank)) {
      groups.push_back({{"recompute", name_of(group.recompute)}, {"layers", group.layers}});
    }
    ordered_json shown = rank_json(rank);
    shown["layers"] = std::move(groups);
    ranks.push_back(std::move(shown));
  }
  return {{"step_s", plan.prediction.time.step_s},
          {"setting_step_s", plan.setting_step_s},
          {"lower_bound_s", plan.lower_bound_s},
          {"gap", plan.gap()},
          {"choices_examined", plan.num_examined},
          {"proposals_replayed", plan.num_replays},
          {"ranks", std::move(ranks)}};
}

}  // namespace refrain::cli
