#include "engine/executor.h"

#include <ATen/ops/empty.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/memory/counting_allocator.h"

namespace refrain::engine {
namespace {

using program::Step;
using program::StepKind;
using program::ValueId;

/// Scratch of one step, posted to the step's account while it lives.
class Scratch {
 public:
  explicit Scratch(const Step& step) {
    if (step.scratch == Bytes()) return;
    const AccountScope scope(step.scratch_account);
    tensor_ = at::empty({step.scratch.count()}, at::TensorOptions(at::kByte));
  }
  ScratchBlock block() const {
    if (!tensor_.defined()) return {};
    return {static_cast<std::byte*>(tensor_.mutable_data_ptr()), tensor_.numel()};
  }

 private:
  at::Tensor tensor_;
};

uint64_t hash_of(const at::Tensor& gradient) {
  RC_CHECK(gradient.is_contiguous() && gradient.device().is_cpu(), "gradient to be hashed");
  return XXH3_64bits(gradient.const_data_ptr(), gradient.nbytes());
}

BackwardPart part_of(StepKind kind) {
  switch (kind) {
    case StepKind::kBackwardWeights:
      return BackwardPart::kWeights;
    case StepKind::kBackwardInputs:
      return BackwardPart::kInputs;
    default:
      return BackwardPart::kWhole;
  }
}

std::span<int32_t> span_of(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<int32_t>(), static_cast<size_t>(tensor.numel())};
}

}  // namespace

Executor::Executor(const model::ModelGraph& graph, const program::Program& program,
                   Weights& weights, KernelSet kernels)
    : graph_(graph),
      program_(program),
      weights_(weights),
      kernels_(kernels),
      tensors_(program.values.size()) {}

const at::Tensor& Executor::tensor(ValueId value) const {
  const at::Tensor& held = tensors_[value];
  RC_CHECK(held.defined(), "{} is not live", describe(graph_, program_, program_.values[value]));
  return held;
}

std::vector<at::Tensor> Executor::gather(const std::vector<ValueId>& values) const {
  std::vector<at::Tensor> tensors;
  tensors.reserve(values.size());
  for (ValueId v : values) tensors.push_back(v == program::kNoValue ? at::Tensor() : tensor(v));
  return tensors;
}

std::vector<GradientOut> Executor::gather(const std::vector<ValueId>& values,
                                          const std::vector<bool>& accumulate) const {
  std::vector<GradientOut> gradients;
  gradients.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    gradients.push_back({tensor(values[i]), accumulate[i]});
  return gradients;
}

StepResult Executor::run(const BatchSource& batch, const StepOptions& options,
                         const std::function<void(size_t)>& after_step) {
  batch_ = &batch;
  options_ = options;
  loss_sum_ = 0;
  num_tokens_ = 0;
  squares_.assign(program_.params.specs.size(), std::nullopt);
  hashes_.assign(program_.params.specs.size(), 0);
  for (ValueId v : program_.residents) tensors_[v] = resident(weights_, program_.values[v]);
  for (const Step& step : program_.steps) {
    if (step.kind == StepKind::kLoadBatch) num_tokens_ += model::numel(graph_.batch_shape);
  }
  reset_peak();
  for (size_t s = 0; s < program_.steps.size(); ++s) {
    run_step(program_.steps[s]);
    if (after_step) after_step(s);
  }
  double squares = 0;
  for (const auto& s : squares_) squares += s.value_or(0);
  StepResult result{.loss = loss_sum_ / static_cast<double>(num_tokens_),
                    .grad_norm = std::sqrt(squares),
                    .peak = peak_held()};
  if (options.hash_gradients) {
    result.grad_hash = XXH3_64bits(hashes_.data(), hashes_.size() * sizeof(uint64_t));
  }
  for (ValueId v : program_.residents) tensors_[v].reset();
  return result;
}

void Executor::run_step(const Step& step) {
  for (const Step::Takeover& t : step.takeovers) {
    tensors_[t.to] = tensors_[t.from];
    post_to(tensors_[t.to], program_.values[t.to].account);
  }
  for (ValueId v : step.born) tensors_[v] = allocate(program_.values[v]);
  {
    const Scratch scratch(step);
    switch (step.kind) {
      case StepKind::kLoadBatch:
        load_batch(step);
        break;
      case StepKind::kForward:
      case StepKind::kReplay:
        run_forward(step, scratch.block());
        break;
      case StepKind::kLoss:
        run_loss(step, scratch.block());
        break;
      case StepKind::kBackward:
      case StepKind::kBackwardWeights:
      case StepKind::kBackwardInputs:
        run_backward(step, scratch.block());
        break;
      case StepKind::kClip:
        clip(step);
        break;
      case StepKind::kUpdate:
        update(step);
        break;
    }
  }
  for (const Step::Takeover& t : step.takeovers) tensors_[t.from].reset();
  for (ValueId v : step.freed) tensors_[v].reset();
}

// Step, micro-batch, block and op, each in bits of its own: no two ops of a run share a stream.
DropoutKey Executor::key_of(const Step& step) const {
  const auto bits = [](int64_t number, int width) {
    RC_CHECK(number >= 0 && number < int64_t{1} << width, "{} needs over {} bits", number, width);
    return static_cast<uint64_t>(number);
  };
  return {options_.seed, bits(options_.adamw.step, 28) << 36 | bits(step.micro_batch, 16) << 20 |
                             bits(step.op.block, 12) << 8 | bits(step.op.op, 8)};
}

void Executor::load_batch(const Step& step) {
  (*batch_)(step.micro_batch, span_of(tensor(step.writes[0])), span_of(tensor(step.writes[1])));
}

void Executor::run_forward(const Step& step, ScratchBlock scratch) {
  const model::Op& op = graph_.graph(step.op.block).ops[step.op.op];
  const std::vector<at::Tensor> reads = gather(step.reads);
  const std::vector<at::Tensor> params = gather(step.params);
  const std::vector<at::Tensor> writes = gather(step.writes);
  kernel_of(op.kind, kernels_).forward(op, {reads, params, writes, scratch, key_of(step)});
}

void Executor::run_backward(const Step& step, ScratchBlock scratch) {
  const model::Op& op = graph_.graph(step.op.block).ops[step.op.op];
  const std::vector<at::Tensor> saved = gather(step.reads);
  const std::vector<at::Tensor> write_gradients = gather(step.write_gradients);
  const std::vector<GradientOut> read_gradients = gather(step.writes, step.accumulate);
  const std::vector<at::Tensor> params = gather(step.params);
  const std::vector<GradientOut> param_gradients =
      gather(step.param_gradients, step.accumulate_params);
  kernel_of(op.kind, kernels_)
      .backward(op, {.saved = saved,
                     .write_gradients = write_gradients,
                     .read_gradients = read_gradients,
                     .params = params,
                     .param_gradients = param_gradients,
                     .scratch = scratch,
                     .key = key_of(step),
                     .part = part_of(step.kind)});
}

void Executor::run_loss(const Step& step, ScratchBlock scratch) {
  const model::Op& op = graph_.graph(step.op.block).ops[step.op.op];
  HeadLossArgs args{.x = tensor(step.reads[0]),
                    .targets = tensor(step.reads[1]),
                    .weight = tensor(step.params[0]),
                    .gradient_scale = 1.0 / static_cast<double>(num_tokens_),
                    .scratch = scratch};
  if (!step.writes.empty()) {
    args.x_gradient = tensor(step.writes[0]);
    args.weight_gradient = {tensor(step.param_gradients[0]), step.accumulate_params[0]};
  }
  loss_sum_ += head_loss(op, args, kernels_);
}

void Executor::note_gradient(int32_t param, const at::Tensor& gradient) {
  if (!squares_[param]) squares_[param] = sum_of_squares(gradient);
  if (options_.hash_gradients) hashes_[param] = hash_of(gradient);
}

void Executor::clip(const Step& step) {
  double squares = 0;
  for (ValueId v : step.reads) {
    const int32_t param = program_.values[v].param;
    squares_[param] = sum_of_squares(tensor(v));
    squares += *squares_[param];
  }
  // As torch.nn.utils.clip_grad_norm_: the small number keeps a zero norm harmless.
  options_.adamw.gradient_factor = std::min(1.0, options_.clip_grad / (std::sqrt(squares) + 1e-6));
}

void Executor::update(const Step& step) {
  const int32_t param = step.param;
  const at::Tensor& gradient = tensor(step.reads[0]);
  note_gradient(param, gradient);
  const at::Tensor& master = weights_.master[param];
  const at::Tensor& weight = weights_.weight[param];
  const bool has_master = master.defined();
  adamw(options_.adamw, program_.params.specs[param].decay, has_master ? master : weight, gradient,
        weights_.first_moment[param], weights_.second_moment[param],
        has_master ? weight : at::Tensor(), kernels_);
}

}  // namespace refrain::engine
