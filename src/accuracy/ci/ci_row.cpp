#include "accuracy/ci/ci_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "accuracy/ci/ci_layout.h"
#include "accuracy/ci/ci_model.h"
#include "accuracy/ci/ci_place.h"
#include "accuracy/rows/device.h"
#include "accuracy/rows/layout.h"
#include "config/scan.h"

namespace refrain::accuracy {
namespace {

using mcore::Family;
using mcore::Recompute;
using mcore::Run;

constexpr Range kRanks{.most = 1 << 20};
constexpr Range kBytes{.least = 0, .most = int64_t{1} << 50};

/// What a row is about where it is not plain training: an argument that says so, or a word of its
/// name where no argument does.
struct OtherWorkload {
  std::string_view argument, word, why;
};
constexpr OtherWorkload kOtherWorkloads[] = {
    {"model-provider", "", "a model of several towers"},
    {"img-h", "", "a vision model before the decoder"},
    {"export-kd-cfg", "", "distillation, which holds a teacher too"},
    {"flextron", "", "an elastic model, which trains several widths"},
    {"max-tokens-to-oom", "grpo", "reinforcement learning, which generates as well"}};

void reject_other_workloads(RowReader& row) {
  for (const OtherWorkload& other : kOtherWorkloads) {
    const bool named =
        !other.word.empty() && row.text("case").find(other.word) != std::string_view::npos;
    if (!named && !row.given(other.argument)) continue;
    row.add({{"accuracy.workload",
              fmt::format("row {} must be plain training: it is {}", row.number(), other.why),
              "leave it out"}});
  }
}

/// Ranks that hold a part of the model each.
int64_t model_ranks(const mcore::Parallel& parallel) {
  return parallel.tensor * parallel.pipeline * parallel.context;
}

/// As stated; else one node, or as many as the model's parts need.
int64_t num_gpus_of(RowReader& row, const mcore::Parallel& parallel,
                    std::vector<std::string>& notes) {
  const int64_t expert_ranks = parallel.expert_tensor * parallel.expert * parallel.pipeline;
  const int64_t least = std::max(model_ranks(parallel), expert_ranks);
  if (const auto stated = row.whole("num_gpus", kRanks)) {
    if (*stated < least) row.complain("num_gpus", fmt::format("the {} ranks or more", least));
    return std::max(*stated, least);
  }
  const Device* device = device_named(row.text("platform"));
  const int64_t assumed = std::max(device ? device->gpus_per_node : 8, least);
  notes.push_back(fmt::format("num_gpus is not stated: {} assumed", assumed));
  return assumed;
}

mcore::Parallel read_parallel(RowReader& row, std::vector<std::string>& notes) {
  mcore::Parallel parallel;
  parallel.tensor = row.whole_or("tensor-model-parallel-size", 1, kRanks);
  parallel.pipeline = row.whole_or("pipeline-model-parallel-size", 1, kRanks);
  parallel.context = row.whole_or("context-parallel-size", 1, kRanks);
  parallel.expert = row.whole_or("expert-model-parallel-size", 1, kRanks);
  parallel.expert_tensor = row.whole_or("expert-tensor-parallel-size", parallel.tensor, kRanks);
  parallel.sequence = row.yes("sequence-parallel") && parallel.tensor > 1;
  parallel.group_size = row.whole_or("microbatch-group-size-per-virtual-pipeline-stage", 0);
  parallel.num_gpus = num_gpus_of(row, parallel, notes);
  parallel.data = std::max<int64_t>(1, parallel.num_gpus / model_ranks(parallel));
  return parallel;
}

/// "0:384 200B:768": sequences a step from the first token on.
std::optional<int64_t> first_of_schedule(const RowReader& row) {
  const std::string_view text = row.text("step-batch-size-schedule");
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return config::parse_whole(text.substr(colon + 1));
}

/// A global batch may be too small for all replicas: then fewer take part.
void read_batch(RowReader& row, Run& run) {
  run.batch.micro = row.required("micro-batch-size", {.most = 1 << 20});
  const bool is_t5 = run.model.family == Family::kT5;
  const bool of_decoder = is_t5 && !row.given("seq-length");
  run.batch.seq = row.required(of_decoder ? "decoder-seq-length" : "seq-length");
  if (is_t5) run.batch.encoder_seq = row.required("encoder-seq-length");
  run.batch.attention_mask = !row.yes("no-create-attention-mask-in-dataloader");
  const int64_t one_each = run.batch.micro * run.parallel.data;
  const auto stated = row.whole("global-batch-size", {.most = 1 << 30});
  run.batch.global = stated ? *stated : std::max(one_each, first_of_schedule(row).value_or(0));
  const int64_t micro_batches = std::max<int64_t>(1, run.batch.global / run.batch.micro);
  run.parallel.data = std::min(run.parallel.data, micro_batches);
}

mcore::LowPrecision low_precision_of(RowReader& row) {
  using mcore::LowPrecision;
  if (!row.given("fp8-format")) return LowPrecision::kNone;
  const std::string_view recipe = row.text("fp8-recipe");
  if (recipe.empty() || recipe == "delayed") return LowPrecision::kFp8Delayed;
  if (recipe == "tensorwise") return LowPrecision::kFp8Current;
  if (recipe == "blockwise") return LowPrecision::kFp8Blockwise;
  if (recipe != "mxfp8") row.complain("fp8-recipe", "delayed, tensorwise, blockwise or mxfp8");
  return LowPrecision::kMxfp8;
}

mcore::Numerics read_numerics(RowReader& row, bool transformer_engine) {
  using mcore::Precision;
  const bool bf16 = row.yes("bf16"), fp16 = row.yes("fp16");
  mcore::Numerics numerics{.params = bf16   ? Precision::kBf16
                                     : fp16 ? Precision::kF16
                                            : Precision::kF32};
  numerics.gemms = low_precision_of(row);
  numerics.low_precision_params = row.yes("fp8-param-gather");
  const bool wide = (bf16 && !row.yes("grad-reduce-in-bf16")) ||
                    row.yes("accumulate-allreduce-grads-in-fp32") || (!bf16 && !fp16);
  numerics.gradient_bytes = wide ? 4 : 2;
  numerics.gradient_fusion = !row.yes("no-gradient-accumulation-fusion");
  const bool wide_softmax =
      row.yes("apply-query-key-layer-scaling") || row.yes("attention-softmax-in-fp32");
  numerics.softmax_fp32 =
      !transformer_engine && row.yes("no-masked-softmax-fusion") && wide_softmax;
  return numerics;
}

mcore::Optimizer read_optimizer(RowReader& row) {
  mcore::Optimizer optimizer;
  if (row.given("optimizer")) optimizer.name = row.text("optimizer");
  optimizer.distributed = row.yes("use-distributed-optimizer");
  optimizer.instances = row.whole_or("num-distributed-optimizer-instances", 1, kRanks);
  optimizer.overlap_grad_reduce = row.yes("overlap-grad-reduce");
  optimizer.overlap_param_gather = row.yes("overlap-param-gather");
  optimizer.pad_buckets =
      row.yes("pad-buckets-for-high-nccl-busbw") || row.yes("ddp-pad-buckets-for-high-nccl-busbw");
  optimizer.fsdp = row.yes("use-megatron-fsdp") || row.given("data-parallel-sharding-strategy");
  if (row.yes("optimizer-cpu-offload")) {
    optimizer.offload_fraction = row.real("optimizer-offload-fraction").value_or(1.0);
  }
  optimizer.precision_aware = row.yes("use-precision-aware-optimizer");
  return optimizer;
}

Recompute read_recompute(RowReader& row) {
  Recompute recompute;
  const std::string_view granularity = row.text("recompute-granularity");
  if (granularity == "selective" || (granularity.empty() && row.yes("recompute-activations"))) {
    recompute.method = Recompute::Method::kSelective;
    for (std::string& label : row.words("recompute-modules")) recompute.labels.insert(label);
    if (!row.given("recompute-modules")) recompute.labels = {"core_attn"};
  } else if (granularity == "full") {
    const std::string_view method = row.text("recompute-method");
    if (!method.empty() && method != "uniform" && method != "block") {
      row.complain("recompute-method", "uniform or block");
    }
    recompute.method = method == "block" ? Recompute::Method::kBlock : Recompute::Method::kUniform;
    recompute.num_layers = row.whole_or("recompute-num-layers", 1, kRanks);
  } else if (!granularity.empty()) {
    row.complain("recompute-granularity", "full, selective or nothing");
  }
  return recompute;
}

/// Runs that count samples ran for days, on clusters of a size that is not recorded: the shares of
/// a distributed optimizer cannot be told.
void require_world_size(RowReader& row, const mcore::Optimizer& optimizer) {
  if (row.given("num_gpus") || row.given("train-iters")) return;
  if (!optimizer.distributed && !optimizer.fsdp) return;
  row.add({{"accuracy.world-size",
            fmt::format("row {} must state num_gpus, which the optimizer is spread over: it counts "
                        "samples, so it may be any number",
                        row.number()),
            "fill num_gpus in"}});
}

/// Sums are made over rows that stress the same.
std::string family_of(const Run& run) {
  if (run.model.family == Family::kBert) return "BERT";
  if (run.model.family == Family::kT5) return "T5";
  const auto has = [&](auto same) {
    return std::any_of(run.model.layers.begin(), run.model.layers.end(), same);
  };
  if (has([](const mcore::LayerKind& kind) { return kind.mixer == mcore::Mixer::kMamba; })) {
    return "hybrid";
  }
  if (has([](const mcore::LayerKind& k) { return k.mixer == mcore::Mixer::kLatentAttention; })) {
    return "latent attention";
  }
  if (run.model.experts.num_experts > 0) {
    return run.place.old_recording ? "experts, old recordings" : "experts";
  }
  if (run.place.head_loss != mcore::HeadLoss::kUnfused) return "fused cross entropy";
  if (run.place.deferred_head_gradients > 0) return "deferred head gradients";
  if (run.parallel.context > 1) return "context parallel";
  if (run.recompute.method != Recompute::Method::kNone) return "recompute";
  if (run.parallel.virtual_stages > 1) return "interleaved pipeline";
  if (run.parallel.pipeline > 1) return "pipeline";
  return run.parallel.tensor > 1 ? "tensor parallel" : "data parallel";
}

void read_measured(RowReader& row, Sample& sample) {
  const auto peak = row.whole("peak_allocated_bytes_max", kBytes);
  if (peak && *peak > 0) {
    sample.peak = {Bytes(*peak), PeakRank::kLast,
                   row.whole_or("train-iters", 2, {.least = 0}) == 1};
  }
  const auto seconds = row.real("iteration_time_s_median");
  if (seconds && *seconds > 0) sample.step_ms = *seconds * 1e3;
}

}  // namespace

Checked<Sample> read_ci_row(const Table& table, size_t index) {
  RowReader row(table, index);
  Sample sample{.name = name_of_ci_row(row)};
  Run& run = sample.run;
  reject_other_workloads(row);
  run.model = read_ci_model(row);
  run.parallel = read_parallel(row, sample.notes);
  read_layout(row, run);
  read_batch(row, run);
  run.recompute = read_recompute(row);
  run.optimizer = read_optimizer(row);
  require_world_size(row, run.optimizer);
  run.offload = read_ci_offload(row);
  run.place = read_ci_place(row, sample.notes);
  run.numerics = read_numerics(row, run.place.transformer_engine);
  if (row.yes("defer-embedding-wgrad-compute")) {
    const int64_t all = mcore::num_micro_batches(run);
    const int64_t limit = row.whole_or("wgrad-deferral-limit", 0, {.least = 0});
    run.place.deferred_head_gradients = limit == 0 ? all : limit;
  }
  sample.family = family_of(run);
  read_measured(row, sample);
  row.add(check_sizes(run, row.number()));
  if (rejects(row.findings())) return Checked<Sample>::reject(row.findings());
  return Checked<Sample>::accept(std::move(sample));
}

std::string name_of_ci_row(const RowReader& row) {
  std::string name(row.text("case"));
  for (const std::string_view column : {"platform", "environment"}) {
    if (row.given(column)) name += fmt::format(" {}", row.text(column));
  }
  return name;
}

}  // namespace refrain::accuracy
