#include "mcore/memory/schedule.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace refrain::mcore::memory {
namespace {

/// Once it is sent, an output's memory is given back; its graph stays (deallocate_output_tensor).
void deallocate(const ForwardPassPtr& pass) {
  if (pass != nullptr) pass->output.storage.reset();
}

void no_pipeline(int64_t micro_batches, Stage& stage) {
  for (int64_t i = 0; i < micro_batches; ++i) {
    const ForwardPassPtr pass = stage.forward(0, Tensor{});
    stage.backward(0, *pass, nullptr);
  }
}

/// forward_backward_pipelining_without_interleaving. Members are the function's variables: what
/// they hold lives until they are assigned again.
class OneForwardOneBackward {
 public:
  OneForwardOneBackward(const Run& run, int64_t rank, Stage& stage)
      : stage_(stage), micro_batches_(num_micro_batches(run)), warmup_(num_warmup(run, rank)) {}

  void run() {
    for (int64_t i = 0; i < warmup_; ++i) {
      input_ = receive();
      output_ = stage_.forward(0, input_);
      flight_.push_back(output_);
      deallocate(output_);
    }
    if (warmup_ < micro_batches_) input_ = receive();
    for (int64_t i = warmup_; i < micro_batches_; ++i) {
      output_ = stage_.forward(0, input_);
      gradient_ = receive_gradient();
      flight_.push_back(output_);
      if (!stage_.is_last(0)) deallocate(output_);
      backward();
      input_ = i + 1 < micro_batches_ ? receive() : Tensor{};
    }
    for (int64_t i = 0; i < warmup_; ++i) {
      gradient_ = receive_gradient();
      backward();
    }
  }

 private:
  Tensor receive() {
    if (stage_.is_first(0)) return {};
    return stage_.receive("pipeline/received input");
  }

  Storage receive_gradient() {
    if (stage_.is_last(0)) return nullptr;
    return stage_.receive("pipeline/received gradient").storage;
  }

  void backward() {
    output_ = flight_.front();
    input_ = output_->input;
    flight_.pop_front();
    stage_.backward(0, *output_, gradient_);
    input_gradient_ = input_.exists() ? input_.gradient->storage : nullptr;
  }

  Stage& stage_;
  int64_t micro_batches_, warmup_;
  std::deque<ForwardPassPtr> flight_;
  Tensor input_;
  ForwardPassPtr output_;
  Storage gradient_, input_gradient_;
};

/// The virtual stage of each turn: groups of micro-batches go through one chunk after the other
/// (get_schedule_table).
std::vector<int64_t> forward_order(const Run& run) {
  const int64_t micro_batches = num_micro_batches(run);
  const int64_t group =
      run.parallel.group_size > 0 ? run.parallel.group_size : run.parallel.pipeline;
  std::vector<int64_t> order;
  for (int64_t begin = 0; begin < micro_batches; begin += group) {
    const int64_t size = std::min(group, micro_batches - begin);
    for (int64_t stage = 0; stage < run.parallel.virtual_stages; ++stage) {
      order.insert(order.end(), static_cast<size_t>(size), stage);
    }
  }
  return order;
}

/// forward_backward_pipelining_with_interleaving, with communication overlapped, as it is by
/// default. Members are the function's variables.
class Interleaved {
 public:
  Interleaved(const Run& run, int64_t rank, Stage& stage)
      : run_(run),
        rank_(rank),
        stage_(stage),
        order_(forward_order(run)),
        warmup_(num_warmup(run, rank)),
        inputs_(run.parallel.virtual_stages),
        gradients_(run.parallel.virtual_stages),
        flight_(run.parallel.virtual_stages) {}

  void run() {
    const auto total = static_cast<int64_t>(order_.size());
    if (rank_ > 0) receive_input(0);
    for (int64_t k = 0; k < warmup_; ++k) warm_up(k);
    for (int64_t k = 0; k < total - warmup_; ++k) steady(k);
    deallocate(output_);
    if (warmup_ == total && !is_last_rank()) receive_gradient(last_stage());
    for (int64_t k = total - warmup_; k < total; ++k) {
      input_gradient_ = backward(k);
      receive_gradient(next_stage(k, false));
    }
  }

 private:
  static constexpr int64_t kNone = -1;  // no chunk

  int64_t last_stage() const { return run_.parallel.virtual_stages - 1; }
  bool is_last_rank() const { return rank_ == run_.parallel.pipeline - 1; }

  int64_t chunk(int64_t k, bool forward) const {
    const auto total = static_cast<int64_t>(order_.size());
    const int64_t stage = order_[static_cast<size_t>(k % total)];
    return forward ? stage : last_stage() - stage;
  }

  /// The chunk for which a tensor arrives after turn `k`, or kNone
  /// (recv_tensor_from_previous_stage).
  int64_t next_stage(int64_t k, bool forward) const {
    if (k + 1 >= static_cast<int64_t>(order_.size())) return kNone;
    const bool leading = forward ? rank_ == 0 : is_last_rank();
    if (!leading) return chunk(k + 1, forward);
    if (k < run_.parallel.pipeline - 1) return kNone;
    const int64_t stage = chunk(k - (run_.parallel.pipeline - 1), forward);
    if (stage == (forward ? last_stage() : 0)) return kNone;  // sends nothing on
    return forward ? stage + 1 : stage - 1;
  }

  void receive_input(int64_t stage) {
    if (stage == kNone) return;
    inputs_[stage].push_back(stage_.receive("pipeline/received input"));
  }

  void receive_gradient(int64_t stage) {
    if (stage == kNone) return;
    gradients_[stage].push_back(stage_.receive("pipeline/received gradient").storage);
  }

  ForwardPassPtr forward(int64_t k) {
    const int64_t stage = chunk(k, true);
    Tensor input;
    if (!stage_.is_first(stage)) {
      if (inputs_[stage].empty()) receive_input(stage);
      input = std::move(inputs_[stage].front());
      inputs_[stage].pop_front();
    }
    ForwardPassPtr pass = stage_.forward(stage, std::move(input));
    flight_[stage].push_back(pass);
    return pass;
  }

  Storage backward(int64_t k) {
    const int64_t stage = chunk(k, false);
    const ForwardPassPtr pass = std::move(flight_[stage].front());
    flight_[stage].pop_front();
    Storage gradient;
    if (!stage_.is_last(stage)) {
      if (gradients_[stage].empty()) receive_gradient(stage);
      gradient = std::move(gradients_[stage].front());
      gradients_[stage].pop_front();
    }
    stage_.backward(stage, *pass, gradient);
    return pass->input.exists() ? pass->input.gradient->storage : nullptr;
  }

  void warm_up(int64_t k) {
    const auto total = static_cast<int64_t>(order_.size());
    const int64_t next = next_stage(k, true);
    // With overlap in warm-up too, all but the first rank have the next input sent ahead.
    const bool ahead = run_.parallel.overlaps_warmup && rank_ > 0;
    if (ahead) receive_input(next);
    output_ = forward(k);
    if (stage_.is_last(chunk(k, true))) output_.reset();
    if (!ahead) receive_input(next);
    if (!run_.parallel.overlaps_warmup) {
      input_ = Tensor{};
      if (next != kNone) input_ = inputs_[next].back();
    }
    deallocate(output_);
    if (k + 1 == warmup_ && warmup_ < total && !is_last_rank()) receive_gradient(last_stage());
  }

  /// One forward and one backward. Where experts' communication overlaps with computation, layers
  /// of both alternate and the backward's loss head comes first (combined_1f1b.py): by the time the
  /// forward reaches its own head, the backward's layers are gone.
  void steady(int64_t k) {
    deallocate(output_);
    ForwardPassPtr output;
    Storage input_gradient;
    if (run_.place.ep_overlap) {
      input_gradient = steady_backward(k);
      output = steady_forward(k + warmup_);
    } else {
      output = steady_forward(k + warmup_);
      input_gradient = steady_backward(k);
    }
    output_ = std::move(output);
    input_gradient_ = std::move(input_gradient);
  }

  ForwardPassPtr steady_forward(int64_t k) {
    ForwardPassPtr output = forward(k);
    if (stage_.is_last(chunk(k, true))) output.reset();
    receive_input(next_stage(k, true));
    return output;
  }

  Storage steady_backward(int64_t k) {
    Storage input_gradient = backward(k);
    if (stage_.is_first(chunk(k, false))) input_gradient.reset();
    receive_gradient(next_stage(k, false));
    return input_gradient;
  }

  const Run& run_;
  int64_t rank_;
  Stage& stage_;
  std::vector<int64_t> order_;
  int64_t warmup_;
  std::vector<std::deque<Tensor>> inputs_;          // received, by virtual stage
  std::vector<std::deque<Storage>> gradients_;      // received, by virtual stage
  std::vector<std::deque<ForwardPassPtr>> flight_;  // by virtual stage
  /// What the warm-up received last, unless it overlaps. Nothing assigns it afterwards, so it holds
  /// that tensor and its gradient to the end of the step.
  Tensor input_;
  ForwardPassPtr output_;
  Storage input_gradient_;
};

}  // namespace

int64_t num_warmup(const Run& run, int64_t rank) {
  const Parallel& parallel = run.parallel;
  const int64_t after = parallel.pipeline - rank - 1;
  const int64_t micro_batches = num_micro_batches(run);
  if (parallel.virtual_stages == 1) return std::min(after, micro_batches);
  const int64_t group = parallel.group_size > 0 ? parallel.group_size : parallel.pipeline;
  const int64_t warmup =
      2 * after + (parallel.virtual_stages - 1) * group + (run.place.ep_overlap ? 1 : 0);
  return std::min(warmup, micro_batches * parallel.virtual_stages);
}

void run_schedule(const Run& run, int64_t rank, Stage& stage) {
  if (run.parallel.pipeline == 1) return no_pipeline(num_micro_batches(run), stage);
  if (run.parallel.virtual_stages == 1) return OneForwardOneBackward(run, rank, stage).run();
  Interleaved(run, rank, stage).run();
}

std::vector<BackwardMoment> backward_moments(const Run& run, int64_t rank) {
  const int64_t stages = run.parallel.virtual_stages;
  const std::vector<int64_t> order = forward_order(run);
  const auto total = static_cast<int64_t>(order.size());
  const int64_t ahead = num_warmup(run, rank) + (run.place.ep_overlap ? 0 : 1);
  std::vector<BackwardMoment> moments;
  std::vector<int64_t> flight(static_cast<size_t>(stages));
  for (int64_t done = 0, i = 0; i < total; ++i) {
    for (; done < std::min(total, ahead + i); ++done) ++flight[order[done]];
    const int64_t stage = stages - 1 - order[i];
    moments.push_back({stage, flight});
    --flight[stage];
  }
  return moments;
}

}  // namespace refrain::mcore::memory
