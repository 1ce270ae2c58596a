#include "train/trainer.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "engine/memory/counting_allocator.h"
#include "model/dense.h"
#include "plan/presets.h"
#include "program/lower.h"
#include "train/lr_schedule.h"

namespace refrain::train {
namespace {

/// Before the first tensor: what is older would not be counted.
const config::TrainOptions& set_up_process(const config::TrainOptions& options) {
  engine::install_counting_allocator();
  at::set_num_threads(static_cast<int>(options.shape.threads));
  return options;
}

StoredType stored_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return StoredType::kF32;
    case at::kBFloat16:
      return StoredType::kBF16;
    case at::kDouble:
      return StoredType::kF64;
    default:
      RC_CHECK(false, "weights of {}", c10::toString(type));
  }
}

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  RC_CHECK(tensor.is_contiguous(), "weights with gaps");
  return {static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes()};
}

NamedTensor named(std::string name, const at::Tensor& tensor) {
  return {.name = std::move(name),
          .type = stored_type(tensor.scalar_type()),
          .shape = tensor.sizes().vec(),
          .bytes = bytes_of(tensor)};
}

/// The tensors of a checkpoint's two files. Constant tables are made anew, not stored.
struct Stored {
  std::vector<NamedTensor> weights, optimizer;
};
Stored stored(const program::Program& program, const engine::Weights& weights) {
  Stored stored;
  for (program::ValueId v : program.residents) {
    const program::Value& value = program.values[v];
    const std::string& name = program.params.specs[value.param].name;
    const at::Tensor& tensor = engine::resident(weights, value);
    switch (value.kind) {
      case program::ValueKind::kParameter:
        stored.weights.push_back(named(name, tensor));
        break;
      case program::ValueKind::kMaster:
        stored.optimizer.push_back(named("master." + name, tensor));
        break;
      case program::ValueKind::kFirstMoment:
        stored.optimizer.push_back(named("first_moment." + name, tensor));
        break;
      case program::ValueKind::kSecondMoment:
        stored.optimizer.push_back(named("second_moment." + name, tensor));
        break;
      default:
        break;
    }
  }
  return stored;
}

/// Copies a file's tensors over the run's; check_tensors has passed.
void take_over(const SafetensorsFile& file, const std::vector<NamedTensor>& run) {
  for (const NamedTensor& tensor : run) {
    const NamedTensor* saved = file.find(tensor.name);
    RC_CHECK(saved && saved->bytes.size() == tensor.bytes.size(), "{}", tensor.name);
    std::memcpy(const_cast<std::byte*>(tensor.bytes.data()), saved->bytes.data(),
                saved->bytes.size());
  }
}

}  // namespace

engine::StepOptions step_options(const config::TrainOptions& options, int64_t step) {
  return {.adamw = {.lr = learning_rate(options.optimizer, step),
                    .beta1 = options.optimizer.beta1,
                    .beta2 = options.optimizer.beta2,
                    .weight_decay = options.optimizer.weight_decay,
                    .step = step},
          .clip_grad = options.shape.clip_grad,
          .seed = options.data.seed};
}

engine::BatchSource batches(const Windows& windows, const config::RunShape& shape, int64_t step) {
  return [&windows, shape, step](int64_t micro_batch, std::span<int32_t> tokens,
                                 std::span<int32_t> targets) {
    windows.train({.step = step - 1,
                   .index = micro_batch,
                   .count = shape.num_micro_batches,
                   .size = shape.micro_batch},
                  tokens, targets);
  };
}

Trainer::Trainer(const config::TrainOptions& options, plan::PreparedStep prepared, Windows windows)
    : options_(set_up_process(options)),
      windows_(std::move(windows)),
      prepared_(std::move(prepared)),
      weights_(engine::init_weights(prepared_.program, options_.data.seed)),
      executor_(prepared_.graph, prepared_.program, weights_) {}

engine::StepResult Trainer::step(bool hash_gradients) {
  engine::StepOptions step = step_options(options_, completed_ + 1);
  step.hash_gradients = hash_gradients;
  const engine::StepResult result =
      executor_.run(batches(windows_, options_.shape, completed_ + 1), step);
  ++completed_;
  return result;
}

double Trainer::evaluate(int64_t batches) {
  config::RunShape shape = options_.shape;
  shape.dropout = 0;
  shape.num_micro_batches =
      std::clamp<int64_t>(windows_.num_held_out() / shape.micro_batch, 1, batches);
  const model::ModelGraph graph = model::build_dense(options_.model, shape);
  const program::Program program =
      program::lower(graph, plan::make_plan(graph, {}, config::ReplayPolicy::kDemand),
                     {.num_micro_batches = shape.num_micro_batches, .training = false});
  const auto held_out = [&](int64_t micro_batch, std::span<int32_t> tokens,
                            std::span<int32_t> targets) {
    const auto seq = static_cast<size_t>(shape.seq);
    for (int64_t i = 0; i < shape.micro_batch; ++i) {
      const int64_t window = (micro_batch * shape.micro_batch + i) % windows_.num_held_out();
      windows_.held_out(window, tokens.subspan(i * seq, seq), targets.subspan(i * seq, seq));
    }
  };
  return engine::Executor(graph, program, weights_).run(held_out, {}).loss;
}

TrainState Trainer::state() const {
  const config::OptimizerOptions& optimizer = options_.optimizer;
  const auto number = [](auto value) { return fmt::format("{}", value); };
  return {.step = completed_,
          .seed = options_.data.seed,
          .model = config::fields_of(options_.model),
          .settings = {{"global_batch",
                        number(options_.shape.micro_batch * options_.shape.num_micro_batches)},
                       {"micro_batch", number(options_.shape.micro_batch)},
                       {"seq", number(options_.shape.seq)},
                       {"corpus_windows", number(windows_.num_train() + windows_.num_held_out())},
                       {"dropout", number(options_.shape.dropout)},
                       {"clip_grad", number(options_.shape.clip_grad)},
                       {"lr", number(optimizer.lr)},
                       {"min_lr", number(optimizer.min_lr)},
                       {"warmup_steps", number(optimizer.warmup_steps)},
                       {"lr_decay_steps", number(optimizer.decay_steps)},
                       {"weight_decay", number(optimizer.weight_decay)},
                       {"beta1", number(optimizer.beta1)},
                       {"beta2", number(optimizer.beta2)}}};
}

void Trainer::save(CheckpointFolder& folder) const {
  const Stored tensors = stored(prepared_.program, weights_);
  folder.save({.state = state(), .weights = tensors.weights, .optimizer = tensors.optimizer});
}

Findings Trainer::resume(const Checkpoint& checkpoint) {
  const Stored tensors = stored(prepared_.program, weights_);
  Findings findings = check_resume(checkpoint.state, state());
  for (const Findings& more :
       {check_tensors("weights.safetensors", checkpoint.weights, tensors.weights),
        check_tensors("optimizer.safetensors", checkpoint.optimizer, tensors.optimizer)}) {
    findings.insert(findings.end(), more.begin(), more.end());
  }
  if (rejects(findings)) return findings;
  take_over(checkpoint.weights, tensors.weights);
  take_over(checkpoint.optimizer, tensors.optimizer);
  completed_ = checkpoint.state.step;
  return findings;
}

}  // namespace refrain::train
