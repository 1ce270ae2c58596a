#include "plan/megatron/choose_setting.h"

#include <fmt/format.h>

#include <algorithm>

namespace refrain::plan {
namespace {

mcore::Run with(mcore::Run run, const mcore::Recompute& recompute) {
  run.recompute = recompute;
  return run;
}

}  // namespace

std::vector<PredictedSetting> predict_settings(const mcore::Run& run,
                                               const cost::DeviceProfile& device, Bytes budget,
                                               const std::vector<mcore::Recompute>& settings) {
  std::vector<PredictedSetting> predicted;
  for (const mcore::Recompute& setting : settings) {
    predicted.push_back({setting, predict(with(run, setting), device, budget)});
  }
  return predicted;
}

PredictedSetting cheapest_that_fits(const mcore::Run& run, const cost::DeviceProfile& device,
                                    Bytes budget) {
  struct Candidate {
    mcore::Recompute recompute;
    double step_s;
  };
  std::vector<Candidate> candidates;
  for (const mcore::Recompute& setting : all_settings(run)) {
    candidates.push_back({setting, cost::step_time(with(run, setting), device).step_s});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.step_s < b.step_s; });
  std::optional<PredictedSetting> leanest;
  for (const Candidate& candidate : candidates) {
    PredictedSetting predicted{candidate.recompute,
                               predict(with(run, candidate.recompute), device, budget)};
    if (predicted.prediction.verdict() == Verdict::kFits) return predicted;
    if (!leanest ||
        predicted.prediction.fullest().allocated < leanest->prediction.fullest().allocated) {
      leanest = std::move(predicted);
    }
  }
  return *std::move(leanest);
}

std::vector<MegatronLever> levers_of(const mcore::Run& run, const cost::DeviceProfile& device,
                                     Bytes budget) {
  std::vector<std::pair<std::string, mcore::Run>> variants;
  const auto add = [&](bool possible, auto change) {
    if (!possible) return;
    mcore::Run variant = run;
    std::string name = change(variant);
    variants.emplace_back(std::move(name), std::move(variant));
  };
  const mcore::Parallel& p = run.parallel;
  const auto layers = static_cast<int64_t>(run.model.layers.size());
  const mcore::AttentionSize& heads = run.model.attention;
  const bool even = p.layout.empty() && !p.embedding_counts && !p.loss_counts;
  add(heads.num_heads % (2 * p.tensor) == 0 && heads.num_query_groups % (2 * p.tensor) == 0,
      [](mcore::Run& r) {
        r.parallel.tensor *= 2;
        r.parallel.num_gpus *= 2;
        r.parallel.sequence = true;
        return fmt::format("--tp {}", r.parallel.tensor);
      });
  add(even && layers % (2 * p.pipeline * p.virtual_stages) == 0, [](mcore::Run& r) {
    r.parallel.pipeline *= 2;
    r.parallel.num_gpus *= 2;
    return fmt::format("--pp {}", r.parallel.pipeline);
  });
  add(run.batch.seq % (4 * p.context) == 0, [](mcore::Run& r) {
    r.parallel.context *= 2;
    r.parallel.num_gpus *= 2;
    return fmt::format("--cp {}", r.parallel.context);
  });
  add(run.batch.micro % 2 == 0, [](mcore::Run& r) {
    r.batch.micro /= 2;
    return fmt::format("--micro-batch {}", r.batch.micro);
  });
  add(!run.optimizer.distributed && p.data > 1, [](mcore::Run& r) {
    r.optimizer.distributed = true;
    return std::string("without --no-distributed-optimizer");
  });
  std::vector<MegatronLever> levers;
  for (auto& [change, variant] : variants) {
    const mcore::Recompute all = {.method = mcore::Recompute::Method::kUniform, .num_layers = 1};
    const MegatronPrediction predicted = predict(with(variant, all), device, budget);
    levers.push_back({change, predicted.fullest().allocated, predicted.verdict(),
                      predicted.time.step_s, variant.parallel.num_gpus});
  }
  std::sort(levers.begin(), levers.end(),
            [](const MegatronLever& a, const MegatronLever& b) { return a.peak < b.peak; });
  return levers;
}

}  // namespace refrain::plan
