#include "cli/megatron/typed_run.h"

#include <fmt/format.h>

#include <vector>

#include "accuracy/model_of.h"
#include "accuracy/rows/layout.h"
#include "config/recipes/architecture.h"
#include "config/scan.h"
#include "cost/device/devices.h"
#include "mcore/memory/not_modelled.h"
#include "plan/megatron/settings.h"

namespace refrain::cli {
namespace {

struct PrecisionRow {
  std::string_view name;
  mcore::Precision params;
  mcore::LowPrecision gemms;
};
constexpr PrecisionRow kPrecisions[] = {
    {"bf16", mcore::Precision::kBf16, mcore::LowPrecision::kNone},
    {"fp16", mcore::Precision::kF16, mcore::LowPrecision::kNone},
    {"fp32", mcore::Precision::kF32, mcore::LowPrecision::kNone},
    {"fp8-delayed", mcore::Precision::kBf16, mcore::LowPrecision::kFp8Delayed},
    {"fp8-current", mcore::Precision::kBf16, mcore::LowPrecision::kFp8Current},
    {"fp8-blockwise", mcore::Precision::kBf16, mcore::LowPrecision::kFp8Blockwise},
    {"mxfp8", mcore::Precision::kBf16, mcore::LowPrecision::kMxfp8},
    {"nvfp4", mcore::Precision::kBf16, mcore::LowPrecision::kNvfp4},
};

void check_size(std::string_view flag, int64_t size, int64_t most, Findings& findings) {
  if (size >= 1 && size <= most) return;
  findings.push_back({"plan.size", fmt::format("{} must be from 1 to {}: {}", flag, most, size),
                      fmt::format("give {} N", flag)});
}

void check_sizes(const TypedRun& t, Findings& findings) {
  constexpr int64_t kMostRanks = 65536, kMostTokens = int64_t{1} << 24;
  const std::pair<std::string_view, int64_t> ranks[] = {{"--tp", t.tp},
                                                        {"--pp", t.pp},
                                                        {"--vpp", t.vpp},
                                                        {"--cp", t.cp},
                                                        {"--ep", t.ep},
                                                        {"--dp", t.dp},
                                                        {"--etp", t.etp.value_or(1)}};
  for (const auto& [flag, size] : ranks) check_size(flag, size, kMostRanks, findings);
  check_size("--seq", t.seq, kMostTokens, findings);
  check_size("--micro-batch", t.micro_batch, 65536, findings);
  check_size("--global-batch", t.global_batch.value_or(1), int64_t{1} << 24, findings);
}

const PrecisionRow* precision_named(const TypedRun& typed, Findings& findings) {
  std::vector<std::string> names;
  for (const PrecisionRow& row : kPrecisions) {
    names.emplace_back(row.name);
    if (row.name == typed.precision) return &row;
  }
  const auto near = nearest(typed.precision, names);
  findings.push_back({"plan.precision",
                      fmt::format("--precision must be one of {}: {}", config::joined(names),
                                  config::in_quotes(typed.precision)),
                      near ? fmt::format("did you mean {}?", *near) : "give one of them"});
  return nullptr;
}

mcore::Numerics numerics_of(const TypedRun& typed, Findings& findings) {
  const PrecisionRow* row = precision_named(typed, findings);
  if (!row) return {};
  const auto needs = [&](std::string_view flag, std::string_view what) {
    findings.push_back({"plan.precision",
                        fmt::format("{} needs {}: --precision {}", flag, what, typed.precision),
                        fmt::format("leave {} out, or change --precision", flag)});
  };
  const bool fp8 =
      row->gemms != mcore::LowPrecision::kNone && row->gemms != mcore::LowPrecision::kNvfp4;
  if (typed.fp8_param_gather && !fp8) needs("--fp8-param-gather", "GEMMs in FP8");
  if (typed.grad_reduce_in_bf16 && row->params != mcore::Precision::kBf16) {
    needs("--grad-reduce-in-bf16", "weights in bf16");
  }
  const bool halves = row->params == mcore::Precision::kF16 || typed.grad_reduce_in_bf16;
  return {.params = row->params,
          .gemms = row->gemms,
          .low_precision_params = typed.fp8_param_gather,
          .gradient_bytes = halves ? 2 : 4};
}

std::optional<Bytes> budget_of(const TypedRun& typed, Findings& findings) {
  if (!typed.budget) return std::nullopt;
  const auto budget = config::parse_bytes(*typed.budget);
  if (!budget) {
    findings.push_back(
        {"plan.budget",
         fmt::format("--budget must be an amount of memory: {}", config::in_quotes(*typed.budget)),
         "give a number with GiB or GB: --budget 76GiB"});
  }
  return budget;
}

/// What TransformerEngine and PyTorch choose on the device when nothing else is asked for.
mcore::Place place_of(const cost::DeviceProfile& device) {
  struct Row {
    std::string_view prefix;
    int capability;
  };
  constexpr Row kRows[] = {{"a100", 80}, {"h", 90}, {"b", 100}, {"gb", 100}};
  mcore::Place place{.device = device.name, .compute_capability = 90};
  for (const Row& row : kRows) {
    if (device.name.starts_with(row.prefix)) place.compute_capability = row.capability;
  }
  const bool before_hopper = place.compute_capability < 90;
  place.attention = before_hopper ? mcore::AttentionKernel::kFlash : mcore::AttentionKernel::kCudnn;
  place.cublas_32mib = !before_hopper;
  return place;
}

mcore::Parallel parallel_of(const TypedRun& t) {
  return {.num_gpus = t.tp * t.pp * t.cp * t.dp,
          .tensor = t.tp,
          .pipeline = t.pp,
          .virtual_stages = t.vpp,
          .context = t.cp,
          .expert = t.ep,
          .expert_tensor = t.etp.value_or(t.ep > 1 ? 1 : t.tp),
          .sequence = t.tp > 1 && !t.no_sequence_parallel,
          .embedding_counts = t.account_for_embedding,
          .loss_counts = t.account_for_loss,
          .data = t.dp};
}

/// Layers of each chunk as --layout says.
void lay_out(const TypedRun& t, mcore::Run& run, Findings& findings) {
  if (!t.layout) return;
  const int64_t layers = std::ssize(run.model.layers);
  const auto layout = accuracy::layout_of_text(*t.layout, layers, t.pp);
  if (!layout) {
    findings.push_back({"plan.layout",
                        fmt::format("--layout must place {} layers on a multiple of --pp {} "
                                    "stages: {}",
                                    layers, t.pp, config::in_quotes(*t.layout)),
                        "write a letter t a layer, E first, L last, | between stages: "
                        "Et|(tt|)*2tL"});
    return;
  }
  run.parallel.layout = *layout;
  run.parallel.virtual_stages = std::ssize(*layout);
  if (t.vpp != 1 && t.vpp != std::ssize(*layout)) {
    findings.push_back({"plan.layout",
                        fmt::format("--vpp must be what --layout has, {} stages a rank: {}",
                                    layout->size(), t.vpp),
                        "leave --vpp out"});
  }
  if (t.account_for_embedding || t.account_for_loss) {
    findings.push_back(
        {"plan.layout",
         fmt::format("--account-for-{} must not stand beside --layout, which places "
                     "embedding and loss itself: {}",
                     t.account_for_embedding ? "embedding" : "loss", config::in_quotes(*t.layout)),
         "leave one of them out"});
  }
}

/// What must divide what; sizes are in range.
void check_run(const mcore::Run& run, Findings& findings) {
  const auto divides = [&](std::string_view what, int64_t whole, int64_t part,
                           std::string_view by) {
    if (part > 0 && whole % part == 0) return;
    findings.push_back(
        {"plan.does-not-divide",
         fmt::format("{} must be a multiple of {}: {} and {}", what, by, whole, part),
         fmt::format("choose {} to divide it", by)});
  };
  const mcore::Parallel& p = run.parallel;
  divides("the number of heads", run.model.attention.num_heads, p.tensor, "--tp");
  divides("the hidden size", run.model.hidden, p.tensor, "--tp");
  if (p.layout.empty()) {
    const int64_t counted = (p.embedding_counts ? 1 : 0) + (p.loss_counts ? 1 : 0);
    divides(
        counted > 0 ? "the number of layers with what is counted as one" : "the number of layers",
        std::ssize(run.model.layers) + counted, p.pipeline * p.virtual_stages, "--pp times --vpp");
  }
  divides("--seq", run.batch.seq, 2 * p.context, "twice --cp");
  divides("--global-batch", run.batch.global, run.batch.micro * p.data, "--micro-batch times --dp");
  if (run.model.experts.num_experts > 0) {
    divides("the number of experts", run.model.experts.num_experts, p.expert, "--ep");
    divides("--tp times --cp times --dp", p.tensor * p.context * p.data, p.expert * p.expert_tensor,
            "--ep times --etp");
  } else if (p.expert > 1) {
    findings.push_back({"plan.no-experts",
                        fmt::format("--ep needs a model with experts: {}", p.expert),
                        "leave --ep out"});
  }
  if (p.virtual_stages > 1 && p.pipeline == 1) {
    findings.push_back({"plan.virtual-without-pipeline",
                        fmt::format("--vpp needs --pp above 1: {}", p.virtual_stages),
                        "leave --vpp out"});
  }
}

std::optional<mcore::Recompute> setting_of(const TypedRun& typed, const mcore::Model& model,
                                           Findings& findings) {
  if (!typed.recompute) return std::nullopt;
  const auto read = plan::read_setting(*typed.recompute, model);
  findings.insert(findings.end(), read.findings.begin(), read.findings.end());
  return read.value;
}

std::optional<mcore::Model> model_named(const std::string& name, Findings& findings) {
  const auto architecture = config::find_architecture(name);
  findings.insert(findings.end(), architecture.findings.begin(), architecture.findings.end());
  if (!architecture.value) return std::nullopt;
  const auto model = accuracy::model_of(*architecture.value);
  findings.insert(findings.end(), model.findings.begin(), model.findings.end());
  return model.value;
}

}  // namespace

void declare_run(CommandLine& line, TypedRun& typed) {
  line.group("Run");
  line.add({"--model", "M", "an architecture by name or Hugging Face id: see refrain recipes"},
           typed.model);
  line.add({"--hardware", "D", "a100-80gb, h100-80gb, h200, b200, b300, gb200, gb300"},
           typed.hardware);
  line.add({"--seq", "N", "tokens of a sequence"}, typed.seq);
  line.add({"--micro-batch", "N", "sequences of a micro-batch"}, typed.micro_batch);
  line.add({"--global-batch", "N", "sequences of a step [one micro-batch a replica]"},
           typed.global_batch);
  line.add({"--precision", "P",
            "bf16, fp16, fp32, fp8-delayed, fp8-current, fp8-blockwise, mxfp8, nvfp4"},
           typed.precision);
  line.add_switch({"--fp8-param-gather", "", "weights are kept in FP8, without bf16 copies"},
                  typed.fp8_param_gather);
  line.add_switch({"--grad-reduce-in-bf16", "", "main gradients in bf16 instead of fp32"},
                  typed.grad_reduce_in_bf16);
  line.group("Parallel sizes");
  line.add({"--tp", "N", "tensor"}, typed.tp);
  line.add({"--pp", "N", "pipeline"}, typed.pp);
  line.add({"--vpp", "N", "virtual stages of a pipeline rank"}, typed.vpp);
  line.add({"--layout", "TEXT", "layers of each stage as Megatron's layout, instead of --vpp"},
           typed.layout);
  line.add_switch({"--account-for-embedding", "", "the embedding takes a layer's place"},
                  typed.account_for_embedding);
  line.add_switch({"--account-for-loss", "", "the loss head takes a layer's place"},
                  typed.account_for_loss);
  line.add({"--cp", "N", "context"}, typed.cp);
  line.add({"--ep", "N", "expert"}, typed.ep);
  line.add({"--etp", "N", "expert tensor [1 with experts, else --tp]"}, typed.etp);
  line.add({"--dp", "N", "data: replicas of dense weights"}, typed.dp);
  line.add_switch({"--no-sequence-parallel", "", "norms and residuals whole on every tensor rank"},
                  typed.no_sequence_parallel);
  line.add_switch({"--no-distributed-optimizer", "", "its state whole on every replica"},
                  typed.no_distributed_optimizer);
  line.add_switch({"--tp-overlap", "", "tensor-parallel communication overlaps with GEMMs"},
                  typed.tp_overlap);
  line.group("Memory");
  line.add({"--budget", "BYTES", "that PyTorch may reserve on a device [the device's memory]"},
           typed.budget);
  line.add({"--recompute", "SETTING", "what you run now: none, selective:label,label, full:..."},
           typed.recompute);
}

Checked<MegatronRunOptions> settle_run(const TypedRun& typed, Findings findings) {
  using Options = Checked<MegatronRunOptions>;
  MegatronRunOptions options{.model = typed.model};
  check_sizes(typed, findings);
  const auto model = model_named(typed.model, findings);
  const auto device = cost::find_device(typed.hardware);
  findings.insert(findings.end(), device.findings.begin(), device.findings.end());
  const mcore::Numerics numerics = numerics_of(typed, findings);
  options.budget = budget_of(typed, findings);
  if (!model || !device.value || rejects(findings)) return Options::reject(std::move(findings));
  options.device = *device.value;
  options.run = {.model = *model,
                 .parallel = parallel_of(typed),
                 .batch = {.micro = typed.micro_batch,
                           .global = typed.global_batch.value_or(typed.micro_batch * typed.dp),
                           .seq = typed.seq},
                 .numerics = numerics,
                 .optimizer = {.distributed = !typed.no_distributed_optimizer,
                               .overlap_grad_reduce = true,
                               .overlap_param_gather = true},
                 .place = place_of(options.device)};
  options.run.place.tp_overlap = typed.tp_overlap;
  if (options.run.model.positions == mcore::Model::Positions::kLearned) {
    options.run.model.max_positions = typed.seq;
  }
  lay_out(typed, options.run, findings);
  check_run(options.run, findings);
  options.setting = setting_of(typed, *model, findings);
  if (const auto reason = mcore::memory::not_modelled(options.run); reason && !rejects(findings)) {
    findings.push_back({"plan.not-modelled",
                        fmt::format("the bytes of this run have no model: {}", *reason),
                        "see docs/plan.md for what is modelled"});
  }
  if (rejects(findings)) return Options::reject(std::move(findings));
  return Options::accept(std::move(options), std::move(findings));
}

}  // namespace refrain::cli
