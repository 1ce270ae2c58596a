#include "accuracy/measured/measured_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "accuracy/measured/figures.h"
#include "accuracy/measured/recipe_match.h"
#include "accuracy/measured/software.h"
#include "accuracy/measured/stage_layers.h"
#include "accuracy/model_of.h"
#include "accuracy/rows/device.h"
#include "accuracy/rows/layout.h"
#include "config/recipes/architecture.h"
#include "config/scan.h"

namespace refrain::accuracy {
namespace {

using config::contains;
using config::Recipe;
using mcore::Run;

constexpr Range kRanks{.most = 1 << 20};

/// "DeepSeekV3 (w/o MTP)" is DeepSeekV3.
std::string_view model_name(const RowReader& row) {
  const std::string_view cell = row.text("model");
  return config::trimmed(cell.substr(0, cell.find('(')));
}

std::string_view task_token(std::string_view task) {
  if (contains(task, "peft") || contains(task, "LoRA")) return "peft";
  return contains(task, "sft") ? "sft" : "pretrain";
}

/// A row's published configuration, if any.
struct Known {
  Parallelism parallelism;
  const Recipe* recipe = nullptr;
  bool named = false;  // the row says that it ran the recipe, or so little that it must have
  bool whole = false;  // what the row leaves out is the recipe's
};

/// Parallel sizes as written; where nothing is, those of the one recipe for this model, GPU,
/// precision and number of GPUs.
Known known_of(RowReader& row, const RecipeKey& key, std::vector<std::string>& notes) {
  Known known{.recipe = recipe_in(row.text("notes"))};
  known.named = known.recipe != nullptr;
  if (!row.given("parallelism")) {
    if (known.recipe == nullptr) known.recipe = only_recipe(key);
    if (known.recipe == nullptr) {
      row.complain("parallelism", "given, as no single recipe fits");
      return known;
    }
    notes.push_back(fmt::format("parallel sizes are those of recipe {}", known.recipe->id));
    known.parallelism = parallelism_of(*known.recipe);
    known.named = known.whole = true;
    return known;
  }
  if (const auto read = parse_parallelism(row.text("parallelism"))) {
    known.parallelism = *read;
  } else {
    row.complain("parallelism", "one layout, such as TP4_PP8_CP1_VP4_EP64");
  }
  if (known.recipe == nullptr) {
    known.recipe = matching_recipe(key, known.parallelism, row.whole_or("mbs", 1, kRanks));
  }
  return known;
}

mcore::Parallel parallel_of(RowReader& row, const Known& known, int64_t num_gpus) {
  const Parallelism& said = known.parallelism;
  mcore::Parallel parallel{.num_gpus = num_gpus,
                           .tensor = said.tensor,
                           .pipeline = said.pipeline,
                           .virtual_stages = said.pipeline > 1 ? said.virtual_stages : 1,
                           .context = said.context,
                           .expert = said.expert};
  // Recipes with experts set it; Megatron's default is the tensor size.
  parallel.expert_tensor = said.expert_tensor.value_or(1);
  parallel.sequence = parallel.tensor > 1;
  const int64_t ranks = std::max(parallel.tensor * parallel.pipeline * parallel.context,
                                 parallel.expert * parallel.expert_tensor * parallel.pipeline);
  if (num_gpus < ranks) row.complain("num_gpus", fmt::format("the {} ranks or more", ranks));
  parallel.data =
      std::max<int64_t>(1, num_gpus / (parallel.tensor * parallel.pipeline * parallel.context));
  return parallel;
}

bool uses_fsdp(const RowReader& row, const Known& known) {
  return known.parallelism.fsdp || contains(remarks_of(row), "megatron_fsdp");
}

bool is_hybrid(const mcore::Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const mcore::LayerKind& kind) {
    return kind.mixer == mcore::Mixer::kMamba;
  });
}

/// Runs of Megatron-Bridge's recipes for performance.
bool is_performance_run(const RowReader& row, const Known& known) {
  const std::string remarks = remarks_of(row);
  const bool of_recipe = known.named && contains(known.recipe->source, "perf_recipes");
  return of_recipe || contains(row.text("task"), "perf") ||
         contains(remarks, "performance-summary") || contains(remarks, "skills/nemo-mbridge-perf");
}

/// The recipes for performance set grad_reduce_in_fp32 to false, and so do those of Nemotron 3, but
/// for Megatron-FSDP, whose main gradients they keep in float32 (recipes/nemotronh); the others
/// leave it at true.
int64_t gradient_bytes_of(const RowReader& row, const Known& known, const mcore::Model& model) {
  if (is_performance_run(row, known)) return 2;
  return is_hybrid(model) && !uses_fsdp(row, known) ? 2 : 4;
}

/// Recipes take Transformer Engine's loss, but for those of Nemotron 3 that are not tuned
/// (cross_entropy_fusion_impl).
mcore::HeadLoss head_loss_of(const RowReader& row, const Known& known, const mcore::Model& model) {
  const bool tuned =
      is_performance_run(row, known) || (known.recipe && contains(known.recipe->id, "pretrain_8k"));
  return is_hybrid(model) && !tuned ? mcore::HeadLoss::kNative
                                    : mcore::HeadLoss::kTransformerEngine;
}

mcore::Numerics numerics_of(std::string_view precision, std::string_view remarks) {
  using mcore::LowPrecision;
  mcore::Numerics numerics;
  if (precision == "fp8cs") numerics.gemms = LowPrecision::kFp8Current;
  if (precision == "fp8mx") numerics.gemms = LowPrecision::kMxfp8;
  if (precision == "nvfp4") numerics.gemms = LowPrecision::kNvfp4;
  // Megatron-Bridge's mixed_precision.py: fp8_param_gather, but nothing of the kind for NVFP4 until
  // a run says so.
  const bool gathers_fp4 = contains(remarks, "with fp4 parameter gather");
  numerics.low_precision_params = precision == "fp8cs" || precision == "fp8mx" || gathers_fp4;
  return numerics;
}

mcore::Optimizer optimizer_of(const RowReader& row, const Known& known) {
  mcore::Optimizer optimizer{.distributed = true,
                             .overlap_grad_reduce = true,
                             .overlap_param_gather = true,
                             .fsdp = uses_fsdp(row, known)};
  optimizer.trains_adapters_only = task_token(row.text("task")) == "peft";
  if (known.recipe && recipe_notes(*known.recipe, "precision_aware_optimizer")) {
    // Their recipes keep both moments in bf16 (exp_avg_dtype, exp_avg_sq_dtype).
    optimizer.precision_aware = true;
    optimizer.moment_bytes = 2;
  }
  return optimizer;
}

mcore::Place place_of(RowReader& row, const Device& device, const Recipe* recipe) {
  mcore::Place place{.device = std::string(device.profile),
                     .compute_capability = device.compute_capability};
  place.cublas_32mib = device.compute_capability >= 90;
  place.graphs = read_measured_graphs(row);
  if (recipe) place.allocator_conf = noted(*recipe, "alloc_conf");
  return place;
}

/// Runs whose time no configuration tells stand apart.
std::string family_of(const RowReader& row, const Run& run) {
  const std::string remarks = remarks_of(row);
  const std::string_view task = row.text("task");
  if (contains(row.text("model"), "tokendrop")) return "dropped tokens";
  if (contains(remarks, "natural")) return "natural routing";
  if (run.optimizer.trains_adapters_only) return "adapters only";
  if (run.optimizer.offload_fraction > 0) return "optimizer on the host";
  if (contains(task, "sft_long")) return "long fine-tuning";
  if (contains(task, "checkpoint_resume")) return "resumed";
  if (contains(remarks, "model_verification") && !contains(task, "performance") &&
      !contains(task, "weak_scaling")) {
    return "verification runs";
  }
  const std::string_view kind = is_hybrid(run.model)                ? "hybrid"
                                : run.model.experts.num_experts > 0 ? "experts"
                                                                    : "dense";
  return fmt::format("{}, {}", run.place.device, kind);
}

/// "DeepSeek V3 (14 layers)" is the first 14 of it.
void cut_layers(RowReader& row, mcore::Model& model) {
  const std::string_view cell = row.text("model");
  const size_t end = cell.find(" layers)"), begin = cell.find('(');
  if (end == std::string_view::npos) return;
  const auto most = std::ssize(model.layers);
  const auto count = config::parse_whole(cell.substr(begin + 1, end - begin - 1));
  if (begin > end || !count || *count < 1 || *count > most) {
    return row.complain("model", fmt::format("cut to 1 to {} layers", most));
  }
  model.layers.resize(static_cast<size_t>(*count));
}

Checked<mcore::Model> read_model(RowReader& row) {
  const auto architecture = config::find_architecture(model_name(row));
  if (!architecture.value) return Checked<mcore::Model>::reject(architecture.findings);
  Checked<mcore::Model> model = model_of(*architecture.value);
  if (!model.value) return model;
  if (contains(row.text("model"), "w/o MTP")) model.value->mtp_layers = 0;
  cut_layers(row, *model.value);
  model.value->experts.router_fp32 = model.value->experts.num_experts > 0;
  return model;
}

RecipeKey key_of(RowReader& row, const Device& device) {
  const config::Architecture* architecture = config::architecture_named(model_name(row));
  return {.architecture = architecture ? architecture->name : std::string(),
          .gpu = std::string(device.word),
          .precision = precision_of(row),
          .task = std::string(task_token(row.text("task"))),
          .num_gpus = row.whole_or("num_gpus", 0, kRanks)};
}

/// A number of the row, else of its recipe; a complaint where neither has it.
int64_t stated(RowReader& row, std::string_view column, const Recipe* recipe,
               std::string_view knob) {
  if (!row.given(column) && recipe) {
    if (const int64_t number = recipe_whole(*recipe, knob, 0); number > 0) return number;
  }
  return row.required(column);
}

void read_batch(RowReader& row, const Recipe* recipe, Sample& sample) {
  mcore::Batch& batch = sample.run.batch;
  const int64_t of_recipe = recipe ? recipe_whole(*recipe, "micro_batch_size", 1) : 1;
  batch.micro = row.whole_or("mbs", of_recipe, kRanks);
  if (!row.given("mbs")) {
    sample.notes.push_back(fmt::format("mbs is not stated: {} assumed", batch.micro));
  }
  batch.seq = stated(row, "seq_len", recipe, "seq_length");
  const bool timed =
      row.given("step_time_ms") || row.given("tokens_per_s_per_gpu") || row.given("tflops_per_gpu");
  if (!row.given("gbs") && !recipe && !timed) {
    batch.global = batch.micro * sample.run.parallel.data;
    sample.notes.emplace_back("gbs is not stated: a micro-batch a replica assumed");
  } else {
    batch.global = stated(row, "gbs", recipe, "global_batch_size");
  }
  sample.run.model.max_positions = batch.seq;
}

/// All of the run but its model, which is there.
void read_run(RowReader& row, const Device& device, Sample& sample) {
  Run& run = sample.run;
  const RecipeKey key = key_of(row, device);
  const Known known = known_of(row, key, sample.notes);
  run.parallel = parallel_of(row, known, row.required("num_gpus", kRanks));
  place_layers(row, known.recipe, run, sample.notes);
  read_batch(row, known.recipe, sample);
  run.recompute = known.whole && !row.given("recompute_granularity") ? recompute_of(*known.recipe)
                                                                     : read_measured_recompute(row);
  run.numerics = numerics_of(key.precision, remarks_of(row));
  run.numerics.gradient_bytes = gradient_bytes_of(row, known, run.model);
  run.optimizer = optimizer_of(row, known);
  run.place = place_of(row, device, known.recipe);
  run.place.head_loss = head_loss_of(row, known, run.model);
  read_measured_offload(row, run);
  read_measured_overlap(row, {known.recipe, known.named}, run);
}

}  // namespace

Checked<Sample> read_measured_row(const Table& table, size_t index) {
  RowReader row(table, index);
  Sample sample{.name = name_of_measured_row(row)};
  if (row.given("framework") && row.text("framework") != "Megatron-Core") {
    row.complain("framework", "Megatron-Core, whose allocations are what is modelled");
    return Checked<Sample>::reject(row.findings());
  }
  Checked<mcore::Model> model = read_model(row);
  const Device* device = device_named(row.text("hardware"));
  if (!model.value) row.add(model.findings);
  if (!device) row.complain("hardware", "a GPU with a device profile, such as H100 or GB200");
  if (!model.value || !device) return Checked<Sample>::reject(row.findings());
  for (const Finding& note : model.findings) sample.notes.push_back(note.message);
  sample.run.model = *std::move(model.value);
  read_run(row, *device, sample);
  sample.family = family_of(row, sample.run);
  read_figures(row, sample);
  row.add(check_sizes(sample.run, row.number()));
  if (rejects(row.findings())) return Checked<Sample>::reject(row.findings());
  return Checked<Sample>::accept(std::move(sample));
}

std::string name_of_measured_row(const RowReader& row) {
  std::string name(row.text("model"));
  for (const std::string_view column :
       {"framework", "task", "hardware", "num_gpus", "parallelism", "precision",
        "recompute_granularity", "recompute_modules"}) {
    if (row.given(column)) name += fmt::format(" {}", row.text(column));
  }
  return name;
}

}  // namespace refrain::accuracy
