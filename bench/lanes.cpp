#include "lanes.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "base/statistics.h"
#include "cost/program/price.h"
#include "engine/memory/counting_allocator.h"
#include "plan/planner.h"

namespace refrain::bench {
namespace {

using program::StepKind;

std::string key_of(const train::Contender& contender) {
  return fmt::format("{} {} {} {}", contender.name, to_text(contender.setting),
                     to_text(contender.replay), to_text(contender.attention));
}

std::vector<int32_t> random_tokens(int64_t count, int64_t vocab, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int32_t> token(0, static_cast<int32_t>(vocab - 1));
  std::vector<int32_t> tokens(count);
  for (int32_t& t : tokens) t = token(random);
  return tokens;
}

bool has_op(StepKind kind) {
  return kind != StepKind::kLoadBatch && kind != StepKind::kClip && kind != StepKind::kUpdate;
}

/// `ms`: of each step of the Program, in every round.
std::vector<OpTime> summed_by_op(const plan::PreparedStep& prepared,
                                 const std::vector<std::vector<double>>& ms) {
  std::map<std::pair<std::string, std::string>, OpTime> sums;
  for (size_t s = 0; s < ms.size(); ++s) {
    const program::Step& step = prepared.program.steps[s];
    const model::Op* op =
        has_op(step.kind) ? &prepared.graph.graph(step.op.block).ops[step.op.op] : nullptr;
    const std::string kind(to_text(step.kind));
    const std::string name = op ? op->name : "";
    OpTime& sum = sums.try_emplace({kind, name}, OpTime{.step = kind, .op = name}).first->second;
    ++sum.count;
    sum.ms += quantile(ms[s], 0.5);
    if (op) sum.gigaflops += cost::flops_of(*op, step.kind).count() / 1e9;
  }
  std::vector<OpTime> times;
  for (auto& [key, time] : sums) times.push_back(std::move(time));
  std::sort(times.begin(), times.end(),
            [](const OpTime& a, const OpTime& b) { return a.ms > b.ms; });
  return times;
}

}  // namespace

Lanes::Lanes(config::ModelConfig config, const config::RunShape& shape)
    : config_(std::move(config)),
      shape_(shape),
      tokens_(random_tokens(shape.tokens(), config_.vocab, 1)),
      targets_(random_tokens(shape.tokens(), config_.vocab, 2)) {
  engine::install_counting_allocator();
  at::set_num_threads(static_cast<int>(shape.threads));
  const plan::PreparedStep none = plan::prepare(config_, shape_, {}, config::ReplayPolicy::kDemand);
  constexpr uint64_t kSeed = 1234;
  weights_ = engine::init_weights(none.program, kSeed);
}

Lanes::Lane& Lanes::lane(const train::Contender& contender) {
  const auto [place, is_new] = lanes_.try_emplace(key_of(contender));
  Lane& lane = place->second;
  if (is_new) {
    config::RunShape shape = shape_;
    shape.attention = contender.attention;
    lane.prepared = plan::prepare(config_, shape, contender.setting, contender.replay);
    if (contender.name == kPlanned) {
      const plan::Planner planner({config_, shape, cost::default_rates()});
      lane.prepared = std::move(planner.plan(lane.prepared.timeline.peak).value.value().step);
    }
    lane.executor =
        std::make_unique<engine::Executor>(lane.prepared.graph, lane.prepared.program, weights_);
  }
  return lane;
}

const plan::PreparedStep& Lanes::prepared(const train::Contender& contender) {
  return lane(contender).prepared;
}

engine::StepResult Lanes::run(Lane& lane, const engine::StepOptions& options,
                              const std::function<void(size_t)>& after_step) {
  const engine::BatchSource batch = [this](int64_t, std::span<int32_t> tokens,
                                           std::span<int32_t> targets) {
    std::copy(tokens_.begin(), tokens_.end(), tokens.begin());
    std::copy(targets_.begin(), targets_.end(), targets.begin());
  };
  return lane.executor->run(batch, options, after_step);
}

engine::StepResult Lanes::step(const train::Contender& contender) {
  return run(lane(contender), {.adamw = {.lr = kRaceLr, .step = ++steps_}});
}

engine::StepResult Lanes::gradients(const train::Contender& contender) {
  return run(lane(contender), {.adamw = {.lr = 0, .beta1 = 0}, .hash_gradients = true});
}

std::vector<OpTime> Lanes::profile(const train::Contender& contender, int64_t rounds) {
  using Clock = std::chrono::steady_clock;
  Lane& profiled = lane(contender);
  std::vector<std::vector<double>> ms(profiled.prepared.program.steps.size());
  for (int64_t r = 0; r < rounds; ++r) {
    Clock::time_point last = Clock::now();
    const auto note = [&](size_t step) {
      const Clock::time_point now = Clock::now();
      ms[step].push_back(std::chrono::duration<double, std::milli>(now - last).count());
      last = now;
    };
    run(profiled, {.adamw = {.lr = kRaceLr, .step = ++steps_}}, note);
  }
  return summed_by_op(profiled.prepared, ms);
}

}  // namespace refrain::bench
