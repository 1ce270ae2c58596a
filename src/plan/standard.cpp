#include "plan/standard.h"

#include <algorithm>

namespace refrain::plan {
namespace {

using config::FullMethod;
using config::Granularity;
using config::Label;
using config::RecomputeSetting;

constexpr int64_t kEveryNumber = 32;

std::vector<RecomputeSetting> settings_of(int64_t num_layers) {
  const auto& labels = config::label_rows();
  std::vector<RecomputeSetting> settings(1);
  for (uint32_t subset = 1; subset < uint32_t{1} << labels.size(); ++subset) {
    RecomputeSetting setting{.granularity = Granularity::kSelective};
    for (size_t i = 0; i < labels.size(); ++i) {
      if (subset >> i & 1) setting.labels.push_back(labels[i].label);
    }
    settings.push_back(std::move(setting));
  }
  for (int64_t k = 1; k <= num_layers; k += num_layers <= kEveryNumber ? 1 : k) {
    for (const FullMethod method : {FullMethod::kUniform, FullMethod::kBlock}) {
      settings.push_back({.granularity = Granularity::kFull, .method = method, .num_layers = k});
    }
  }
  return settings;
}

bool is_megatrons(const RecomputeSetting& setting) {
  return std::find(setting.labels.begin(), setting.labels.end(), Label::kPointwise) ==
         setting.labels.end();
}

}  // namespace

std::vector<StandardStep> standard_steps(const Workload& workload) {
  std::vector<StandardStep> steps;
  for (const RecomputeSetting& setting : settings_of(workload.model.num_layers)) {
    const PreparedStep step =
        prepare(workload.model, workload.shape, setting, config::ReplayPolicy::kDemand);
    steps.push_back(
        {setting, step.timeline.peak, cost::price(step.graph, step.program, workload.rates)});
  }
  return steps;
}

const StandardStep* fastest_inside(const std::vector<StandardStep>& steps, Bytes budget,
                                   bool megatron_only) {
  const StandardStep* fastest = nullptr;
  for (const StandardStep& step : steps) {
    if (step.peak > budget || (megatron_only && !is_megatrons(step.setting))) continue;
    if (!fastest || step.timing.total_s() < fastest->timing.total_s()) fastest = &step;
  }
  return fastest;
}

}  // namespace refrain::plan
