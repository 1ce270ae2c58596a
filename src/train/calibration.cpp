#include "train/calibration.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/statistics.h"
#include "cost/program/price.h"
#include "engine/executor.h"
#include "engine/memory/counting_allocator.h"
#include "plan/prepare.h"
#include "train/trainer.h"

namespace refrain::train {
namespace {

using Clock = std::chrono::steady_clock;

/// Median seconds of each step of the Program over the rounds; the first round warms up.
std::vector<double> step_seconds(const config::CalibrateOptions& options, const Windows& windows,
                                 const plan::PreparedStep& prepared) {
  engine::Weights weights = engine::init_weights(prepared.program, options.data.seed);
  engine::Executor executor(prepared.graph, prepared.program, weights);
  const config::TrainOptions train{.model = options.model, .shape = options.shape};
  std::vector<std::vector<double>> seconds(prepared.program.steps.size());
  for (int64_t round = 0; round <= options.rounds; ++round) {
    Clock::time_point last = Clock::now();
    const auto note = [&](size_t step) {
      const Clock::time_point now = Clock::now();
      if (round > 0) seconds[step].push_back(std::chrono::duration<double>(now - last).count());
      last = Clock::now();
    };
    executor.run(batches(windows, options.shape, round + 1), step_options(train, round + 1), note);
  }
  std::vector<double> medians;
  for (std::vector<double>& of_step : seconds) medians.push_back(quantile(std::move(of_step), 0.5));
  return medians;
}

}  // namespace

cost::MachineRates calibrate(const config::CalibrateOptions& options, const Windows& windows) {
  engine::install_counting_allocator();
  at::set_num_threads(static_cast<int>(options.shape.threads));
  const plan::PreparedStep prepared =
      plan::prepare(options.model, options.shape, {}, config::ReplayPolicy::kDemand);
  const std::vector<double> seconds = step_seconds(options, windows, prepared);

  cost::MachineRates rates{
      .name = options.name,
      .source = fmt::format("refrain calibrate: {}, {} sequences of {}, {} threads, {}",
                            options.model.name, options.shape.micro_batch, options.shape.seq,
                            options.shape.threads, to_text(options.shape.precision)),
      .step_s = *std::min_element(seconds.begin(), seconds.end())};
  std::array<double, cost::kNumWorkKinds> amounts{}, spent{};
  for (size_t s = 0; s < seconds.size(); ++s) {
    const cost::Work work =
        cost::work_of(prepared.graph, prepared.program, prepared.program.steps[s]);
    amounts[static_cast<size_t>(work.kind)] += work.amount;
    spent[static_cast<size_t>(work.kind)] += seconds[s] - rates.step_s;
  }
  for (int k = 0; k < cost::kNumWorkKinds; ++k) {
    RC_CHECK(amounts[k] > 0 && spent[k] > 0, "no time was spent on work of kind {}", k);
    rates.*cost::rate_of(static_cast<cost::WorkKind>(k)) = amounts[k] / spent[k];
  }
  return rates;
}

}  // namespace refrain::train
