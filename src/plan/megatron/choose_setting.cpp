#include "plan/megatron/choose_setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/parallel_for.h"

namespace refrain::plan {
namespace {

mcore::Run with(mcore::Run run, const mcore::Recompute& recompute) {
  run.recompute = recompute;
  return run;
}

struct Candidate {
  mcore::Recompute recompute;
  double step_s;
  Bytes at_least;  // that its fullest rank holds
};

/// The one whose fullest rank holds least.
template <class Predict>
PredictedSetting leanest_of(std::vector<Candidate> candidates, Predict predicted) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.at_least < b.at_least; });
  std::optional<PredictedSetting> leanest;
  for (const Candidate& candidate : candidates) {
    if (leanest && candidate.at_least >= leanest->prediction.fullest().allocated) break;
    PredictedSetting next = predicted(candidate);
    if (!leanest || next.prediction.fullest().allocated < leanest->prediction.fullest().allocated) {
      leanest = std::move(next);
    }
  }
  return *std::move(leanest);
}

}  // namespace

std::vector<PredictedSetting> predict_settings(const mcore::Run& run,
                                               const cost::DeviceProfile& device, Bytes budget,
                                               const std::vector<mcore::Recompute>& settings,
                                               const cost::Calibration& calibration) {
  std::vector<PredictedSetting> predicted(settings.size());
  parallel_for(settings.size(), [&](size_t i) {
    predicted[i] = {settings[i], predict(with(run, settings[i]), device, budget, calibration)};
  });
  return predicted;
}

PredictedSetting cheapest_that_fits(const mcore::Run& run, const cost::DeviceProfile& device,
                                    Bytes budget, const cost::Calibration& calibration,
                                    const std::vector<PredictedSetting>& known) {
  std::vector<Candidate> candidates;
  for (const mcore::Recompute& setting : all_settings(run)) {
    const cost::StepTime time =
        cost::step_time(with(run, setting), device, {.calibration = calibration});
    candidates.push_back({setting, time.step_s, {}});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.step_s < b.step_s; });
  const auto find_known = [&](const Candidate& candidate) -> const PredictedSetting* {
    const auto found = std::find_if(known.begin(), known.end(), [&](const PredictedSetting& each) {
      return each.recompute == candidate.recompute;
    });
    return found == known.end() ? nullptr : &*found;
  };
  const auto predicted = [&](const Candidate& candidate) -> PredictedSetting {
    if (const PredictedSetting* there = find_known(candidate)) return *there;
    return {candidate.recompute,
            predict(with(run, candidate.recompute), device, budget, calibration)};
  };
  int64_t tight_rank = 0;
  for (Candidate& candidate : candidates) {
    // Most settings fail, and most on the same rank: the others need no prediction then.
    const PredictedSetting* there = find_known(candidate);
    const RankBytes tight = there != nullptr
                                ? there->prediction.ranks.at(tight_rank)
                                : predict_rank(with(run, candidate.recompute), tight_rank, budget);
    candidate.at_least = tight.allocated;
    if (tight.verdict != Verdict::kFits) continue;
    PredictedSetting whole = predicted(candidate);
    if (whole.prediction.verdict() == Verdict::kFits) return whole;
    const RankBytes& fullest = whole.prediction.fullest();
    candidate.at_least = fullest.allocated;
    if (fullest.verdict != Verdict::kFits) tight_rank = fullest.rank;
  }
  return leanest_of(candidates, predicted);
}

std::vector<MegatronLever> levers_of(const mcore::Run& run, const cost::DeviceProfile& device,
                                     Bytes budget, const cost::Calibration& calibration) {
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
    const MegatronPrediction predicted = predict(with(variant, all), device, budget, calibration);
    levers.push_back({change, predicted.fullest().allocated, predicted.verdict(),
                      predicted.time.step_s, cost::expected_error(variant, predicted.time),
                      variant.parallel.num_gpus});
  }
  std::sort(levers.begin(), levers.end(),
            [](const MegatronLever& a, const MegatronLever& b) { return a.peak < b.peak; });
  return levers;
}

}  // namespace refrain::plan
