#include "cli/plan/plan_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "config/scan.h"
#include "config/word.h"

namespace refrain::cli {
namespace {

using config::RecomputeSetting;
using nlohmann::ordered_json;
using plan::LayerDecision;
using plan::StandardStep;

const std::vector<config::Label> kMegatronLabels = {config::Label::kCoreAttn,
                                                    config::Label::kLayernorm, config::Label::kMlp};

double base_s(const PlanView& view) {
  return view.plan.timing.total_s() - view.plan.timing.replay_s;
}

std::string overhead(const PlanView& view, const cost::Timing& timing) {
  return fmt::format("+{:.1f} %", 100 * timing.replay_s / base_s(view));
}

/// Names the shorter side: what is recomputed, or what is kept.
std::string treatment(const LayerDecision& decision) {
  if (decision.run > 1) return fmt::format("runs of {} recomputed from one input", decision.run);
  std::vector<std::string> kept, recomputed;
  for (const plan::Reason& reason : decision.reasons) {
    (reason.recomputed ? recomputed : kept).push_back(reason.activation);
  }
  if (recomputed.empty()) return "everything kept";
  if (kept.empty()) return "everything recomputed from the layer's input";
  if (kept.size() < recomputed.size()) return "kept: " + config::joined(kept);
  return "recomputed: " + config::joined(recomputed);
}

std::string layers_text(const LayerDecision& decision) {
  return decision.first == decision.last ? fmt::format("{}", decision.first)
                                         : fmt::format("{} to {}", decision.first, decision.last);
}

std::string standards_table(const PlanView& view) {
  TextTable table({{"setting"},
                   {"peak", Align::kRight},
                   {"", Align::kRight},
                   {"fits"},
                   {"recompute time", Align::kRight}});
  const auto add = [&](const std::string& name, Bytes peak, const cost::Timing& timing) {
    table.add_row({name, to_text(peak), fmt::format("{}", peak.count()),
                   peak <= view.budget ? "yes" : "no", overhead(view, timing)});
  };
  for (const StandardStep& step : view.standards) {
    if (is_common(step.setting, view.workload.model.num_layers)) {
      add(to_text(step.setting), step.peak, step.timing);
    }
  }
  add("this plan", view.plan.step.timeline.peak, view.plan.timing);
  return table.to_text();
}

/// The fastest setting that fits and that Megatron can express, and what it costs more.
std::string nearest_text(const PlanView& view) {
  const StandardStep* nearest = plan::fastest_inside(view.standards, view.budget, true);
  if (!nearest) return "no setting that Megatron can express fits\n";
  const double more = nearest->timing.replay_s - view.plan.timing.replay_s;
  return fmt::format("nearest that Megatron can express: --recompute {}, {:+.1f} % of a step\n",
                     to_text(nearest->setting), 100 * more / base_s(view));
}

ordered_json reasons_json(const LayerDecision& decision) {
  ordered_json list = ordered_json::array();
  for (const plan::Reason& reason : decision.reasons) {
    list.push_back({{"activation", reason.activation},
                    {"freed_bytes", reason.freed.count()},
                    {"micro_batch_replay_s", reason.replay_s},
                    {"recomputed", reason.recomputed}});
  }
  return list;
}

ordered_json standard_json(const StandardStep& step, Bytes budget) {
  return {{"setting", to_text(step.setting)},
          {"peak_bytes", step.peak.count()},
          {"fits", step.peak <= budget},
          {"replay_s", step.timing.replay_s},
          {"step_s", step.timing.total_s()}};
}

}  // namespace

bool is_common(const RecomputeSetting& setting, int64_t num_layers) {
  switch (setting.granularity) {
    case config::Granularity::kNone:
      return true;
    case config::Granularity::kSelective:
      return setting.labels.size() == 1 || setting.labels == kMegatronLabels;
    case config::Granularity::kFull:
      return setting.num_layers <= 2 || setting.num_layers == num_layers / 2;
  }
  return false;
}

std::string to_text(const PlanView& view) {
  const plan::EnginePlan& p = view.plan;
  const Bytes peak = p.step.timeline.peak;
  return fmt::format(
      "{}: budget {} ({} bytes), leanest plan {}\n"
      "peak {} ({} bytes), recompute {} of a step; {} choices examined, {} not dominated, {}\n\n"
      "{}\n{}\n{}",
      config::as_word(view.workload.model.name), to_text(view.budget), view.budget.count(),
      to_text(view.least_peak), to_text(peak), peak.count(), overhead(view, p.timing), p.examined,
      p.frontier_size,
      p.gap == 0 ? "proven least" : fmt::format("within {:.2f} % of the least", 100 * p.gap),
      decisions_table(p.decisions), standards_table(view), nearest_text(view));
}

std::string decisions_table(const std::vector<LayerDecision>& decisions) {
  TextTable table({{"layers"}, {"plan"}});
  for (const LayerDecision& decision : decisions) {
    table.add_row({layers_text(decision), treatment(decision)});
  }
  return table.to_text();
}

std::string activations_text(const std::vector<LayerDecision>& decisions) {
  std::string text;
  for (const LayerDecision& decision : decisions) {
    TextTable table({{"activation"},
                     {"frees", Align::kRight},
                     {"replay, ms", Align::kRight},
                     {"MiB a ms", Align::kRight},
                     {""}});
    for (const plan::Reason& r : decision.reasons) {
      const double mib = static_cast<double>(r.freed.count()) / 0x1p20;
      table.add_row({r.activation, to_text(r.freed), fmt::format("{:.3f}", 1e3 * r.replay_s),
                     r.replay_s > 0 ? fmt::format("{:.1f}", mib / (1e3 * r.replay_s)) : "-",
                     r.recomputed ? "recomputed" : "kept"});
    }
    text += fmt::format("\nlayers {}: each alone, of one layer and micro-batch\n{}",
                        layers_text(decision), table.to_text());
  }
  return text;
}

std::string reasons_text(const PlanView& view) {
  std::string text;
  if (view.byte_price_s > 0) {
    text = fmt::format("\na MiB more of budget would save {:.3g} ms a step\n",
                       1e3 * view.byte_price_s * 0x1p20);
  } else {
    text = "\nmore budget would save nothing\n";
  }
  return text + activations_text(view.plan.decisions);
}

std::string to_json(const PlanView& view) {
  const plan::EnginePlan& p = view.plan;
  ordered_json layers = ordered_json::array();
  for (const LayerDecision& decision : p.decisions) {
    layers.push_back({{"first", decision.first},
                      {"last", decision.last},
                      {"run", decision.run},
                      {"recompute", decision.recomputed},
                      {"reasons", reasons_json(decision)}});
  }
  ordered_json standards = ordered_json::array();
  for (const StandardStep& step : view.standards) {
    standards.push_back(standard_json(step, view.budget));
  }
  const StandardStep* nearest = plan::fastest_inside(view.standards, view.budget, true);
  const ordered_json object = {
      {"model", view.workload.model.name},
      {"budget_bytes", view.budget.count()},
      {"least_peak_bytes", view.least_peak.count()},
      {"peak_bytes", p.step.timeline.peak.count()},
      {"step_s", p.timing.total_s()},
      {"replay_s", p.timing.replay_s},
      {"gap", p.gap},
      {"choices_examined", p.examined},
      {"frontier", p.frontier_size},
      {"byte_price_s", view.byte_price_s},
      {"layers", std::move(layers)},
      {"nearest_megatron", nearest ? standard_json(*nearest, view.budget) : ordered_json()},
      {"standard_settings", std::move(standards)}};
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace refrain::cli
