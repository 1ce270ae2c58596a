#include "train/contest.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <cstring>
#include <utility>

#include "engine/memory/counting_allocator.h"
#include "train/trainer.h"

namespace refrain::train {

struct Contest::Lane {
  plan::PreparedStep prepared;
  std::unique_ptr<engine::Executor> executor;
};

namespace {

std::vector<at::Tensor> state_of(const engine::Weights& weights) {
  std::vector<at::Tensor> state;
  for (const auto* list :
       {&weights.weight, &weights.master, &weights.first_moment, &weights.second_moment}) {
    for (const at::Tensor& tensor : *list) {
      if (tensor.defined()) state.push_back(tensor);
    }
  }
  return state;
}

}  // namespace

Contest::Contest(const config::BenchOptions& options, const Windows& windows,
                 std::vector<Contender> contenders)
    : options_{.model = options.model, .shape = options.shape, .data = options.data},
      windows_(windows) {
  engine::install_counting_allocator();
  at::set_num_threads(static_cast<int>(options.shape.threads));
  for (Contender& contender : contenders) {
    config::RunShape shape = options.shape;
    shape.attention = contender.attention;
    auto lane = std::make_unique<Lane>();
    lane->prepared = contender.plan
                         ? *std::move(contender.plan)
                         : plan::prepare(options.model, shape, contender.setting, contender.replay);
    lanes_.push_back(std::move(lane));
  }
  weights_ = engine::init_weights(lanes_.front()->prepared.program, options.data.seed);
  for (const auto& lane : lanes_) {
    lane->executor =
        std::make_unique<engine::Executor>(lane->prepared.graph, lane->prepared.program, weights_);
  }
}

Contest::~Contest() = default;

const plan::PreparedStep& Contest::prepared(size_t contender) const {
  return lanes_.at(contender)->prepared;
}

void Contest::keep_weights() {
  kept_.clear();
  for (const at::Tensor& tensor : state_of(weights_)) {
    const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
    kept_.emplace_back(data, data + tensor.nbytes());
  }
}

void Contest::restore_weights() {
  size_t next = 0;
  for (const at::Tensor& tensor : state_of(weights_)) {
    const std::vector<std::byte>& kept = kept_[next++];
    std::memcpy(tensor.mutable_data_ptr(), kept.data(), kept.size());
  }
}

engine::StepResult Contest::step(Lane& lane, bool hash_gradients) {
  engine::StepOptions step = step_options(options_, round_);
  step.hash_gradients = hash_gradients;
  return lane.executor->run(batches(windows_, options_.shape, round_), step);
}

std::vector<ContenderResult> Contest::run(int64_t rounds) {
  std::vector<ContenderResult> results(lanes_.size());
  for (int64_t r = 0; r < rounds + 2; ++r) {
    ++round_;
    keep_weights();
    for (size_t turn = 0; turn < lanes_.size(); ++turn) {
      const size_t lane =
          (turn + static_cast<size_t>(r)) % lanes_.size();  // nobody is always first
      if (turn > 0) restore_weights();
      const auto start = std::chrono::steady_clock::now();
      const bool last = r == rounds + 1;
      const engine::StepResult result = step(*lanes_[lane], last);
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - start;
      if (r > 0 && !last) results[lane].step_ms.push_back(took.count());
      if (last) results[lane].last = result;
    }
  }
  return results;
}

}  // namespace refrain::train
