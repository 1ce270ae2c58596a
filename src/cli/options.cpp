#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "cli/command_line.h"
#include "config/model_config.h"
#include "config/recompute_setting.h"
#include "config/run_shape.h"

namespace refrain::cli {
namespace {

using config::AttentionBackend;
using config::Precision;
using config::ReplayPolicy;

constexpr int64_t kDefaultSeq = 256;
constexpr std::string_view kDefaultSweep =
    "none;selective:pointwise;selective:layernorm;selective:core_attn;selective:mlp;"
    "selective:core_attn,layernorm,mlp;full:uniform:1;full:uniform:2;full:block:2";

const std::vector<AttentionBackend> kAttentions = {AttentionBackend::kFused,
                                                   AttentionBackend::kUnfused};
const std::vector<ReplayPolicy> kReplays = {ReplayPolicy::kDemand, ReplayPolicy::kRegion};
const std::vector<Precision> kPrecisions = {Precision::kF32, Precision::kBf16};

constexpr CommandText kTrain = {
    "refrain train", "Trains a model under a recompute setting.",
    "  refrain train --model llama-15m --steps 20\n"
    "  refrain train --model llama-60m --recompute selective:mlp --data my_text/ --save run1\n"
    "  refrain train --model llama-60m --memory-budget 1.5GiB\n"
    "  refrain train --resume run1 --save run1 --steps 40 --recompute full:uniform:1\n"
    "  refrain train recompute_granularity=selective recompute_modules=[core_attn,layernorm]\n"
    "  refrain train --recompute-granularity full --recompute-method uniform "
    "--recompute-num-layers 4\n"};
constexpr CommandText kBench = {
    "refrain bench", "Runs recompute settings in alternation and compares them.",
    "  refrain bench --model llama-15m\n"
    "  refrain bench --model bench-s --seq 512 --settings 'none;selective:mlp;full:uniform:1'\n"
    "  refrain bench --model llama-15m --settings 'none;selective:mlp' --memory-budget 300MiB\n"
    "  refrain bench --replay both --attention both --steps 15 --json\n"};
constexpr CommandText kLedger = {
    "refrain ledger", "Prints what a training step holds, to the byte, without running it.",
    "  refrain ledger --model llama3-70b --seq 4096 --micro-batch 1 --dtype bf16\n"
    "  refrain ledger --model llama-15m --recompute selective:pointwise --json\n"
    "  refrain ledger --model path/to/config.json --recompute full:block:8 --csv > steps.csv\n"
    "  refrain ledger --mcore --help    # the ranks of a Megatron run\n"};

constexpr CommandText kPlan = {
    "refrain plan", "Chooses what to recompute, per layer and activation, under a memory budget.",
    "  refrain plan --model llama-15m --memory-budget 250MiB\n"
    "  refrain plan --model llama-60m --seq 512 --memory-budget 1.2GiB --why\n"
    "  refrain plan --model llama-60m --memory-budget 1.2GiB --save plan.json --html plan.html\n"};

constexpr CommandText kCalibrate = {
    "refrain calibrate", "Measures this machine's rates, which plans are priced with.",
    "  refrain calibrate --model llama-60m --seq 512 --save rates.json\n"
    "  refrain plan --model llama-60m --seq 512 --memory-budget 1.5GiB --rates rates.json\n"};

/// What train, bench, ledger, plan and calibrate share, as typed.
struct TypedWorkload {
  std::string model = "llama-15m";
  std::optional<int64_t> seq, global_batch;
  config::RunShape shape;
};

TypedWorkload default_workload() {
  TypedWorkload typed;
  typed.shape.micro_batch = 4;
  typed.shape.threads = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, 1024);
  return typed;
}

void declare_workload(CommandLine& line, TypedWorkload& typed) {
  line.group("Model and shape");
  line.add({"--model", "M", "a name that `refrain models` lists, or a config.json"}, typed.model);
  line.add({"--seq", "N", "tokens of a sequence [256, or the model's positions if fewer]"},
           typed.seq);
  line.add({"--micro-batch", "N", "sequences that run at once"}, typed.shape.micro_batch);
  line.add({"--global-batch", "N", "sequences of a step [as --micro-batch]"}, typed.global_batch);
  line.add_choice({"--dtype", "f32|bf16", "of activations and weights"}, typed.shape.precision,
                  kPrecisions);
  line.add({"--dropout", "P", "on embeddings, attention and residuals"}, typed.shape.dropout);
  line.add({"--clip-grad", "NORM", "clips the global gradient norm; 0: no clipping"},
           typed.shape.clip_grad);
  line.add({"--threads", "N", "workers of the kernels"}, typed.shape.threads);
}

/// Ours and Megatron's spellings, as typed.
struct TypedRecompute {
  std::optional<std::string> setting;
  config::MegatronRecompute megatron;
};

void declare_recompute(CommandLine& line, TypedRecompute& typed) {
  line.group("Recompute");
  line.add({"--recompute", "SETTING",
            "none | full:uniform:K | full:block:K | selective:label,label [none]"},
           typed.setting);
  line.group("Recompute, as Megatron spells it; also knob=value");
  line.add_knob({"--recompute-granularity", "G", "full | selective"}, typed.megatron.granularity);
  line.add_list_knob({"--recompute-modules", "LABELS", "for selective [core_attn]"},
                     typed.megatron.modules);
  line.add_knob({"--recompute-method", "M", "for full: uniform | block"}, typed.megatron.method);
  line.add_knob({"--recompute-num-layers", "K", "for full, 1 or more"}, typed.megatron.num_layers);
}

/// What train and ledger take one of, and bench may take both of.
void declare_setting(CommandLine& line, TypedWorkload& workload, TypedRecompute& recompute,
                     ReplayPolicy& replay) {
  line.add_choice({"--attention", "fused|unfused", "back end of attention"},
                  workload.shape.attention, kAttentions);
  declare_recompute(line, recompute);
  line.group("Recompute");
  line.add_choice({"--replay", "demand|region", "what backward asks for, or whole regions"}, replay,
                  kReplays);
}

/// --memory-budget, and what a plan is priced with.
void declare_budget(CommandLine& line, std::optional<std::string>& budget,
                    config::PlanOptions& plan) {
  line.group("Recompute");
  line.add({"--memory-budget", "BYTES", "the plan that costs least inside it: 700MiB, 1.5GiB"},
           budget);
  line.add({"--rates", "FILE", "what `refrain calibrate` wrote [two AVX-512 cores]"}, plan.rates);
}

void declare_data(CommandLine& line, config::DataOptions& data) {
  line.group("Data");
  line.add({"--data", "PATH", "a file or a folder of text [headers of the installed LibTorch]"},
           data.path);
  line.add({"--seed", "N", "of weights, order of the data, dropout"}, data.seed);
}

void append(Findings& findings, Findings more) {
  std::move(more.begin(), more.end(), std::back_inserter(findings));
}

/// The value, its findings moved over; a default-made one where there is none.
template <class T>
T take(Checked<T> checked, Findings& findings) {
  append(findings, std::move(checked.findings));
  return checked.value ? *std::move(checked.value) : T();
}

/// Sets the model and the shape; false where the model could not be found.
bool settle_workload(const TypedWorkload& typed, config::ModelConfig& model,
                     config::RunShape& shape, Findings& findings) {
  Checked<config::ModelConfig> found = config::find_model(typed.model);
  const bool is_found = found.value.has_value();
  model = take(std::move(found), findings);
  shape = typed.shape;
  shape.seq =
      typed.seq.value_or(is_found ? std::min(kDefaultSeq, model.max_positions) : kDefaultSeq);
  const int64_t global_batch = typed.global_batch.value_or(shape.micro_batch);
  if (shape.micro_batch < 1) return is_found;  // told by config::validate
  if (global_batch < 1 || global_batch % shape.micro_batch != 0) {
    findings.push_back({"shape.global-batch",
                        fmt::format("--global-batch must be a multiple of --micro-batch: {} and {}",
                                    global_batch, shape.micro_batch),
                        fmt::format("give --global-batch {}", shape.micro_batch)});
    return is_found;
  }
  shape.num_micro_batches = global_batch / shape.micro_batch;
  return is_found;
}

config::RecomputeSetting settle_recompute(const TypedRecompute& typed, Findings& findings) {
  const config::MegatronRecompute& megatron = typed.megatron;
  if (!typed.setting) return take(config::parse_recompute(megatron), findings);
  if (megatron.granularity || megatron.modules || megatron.method || megatron.num_layers) {
    findings.push_back({"recompute.two-spellings",
                        fmt::format("a setting must be given in one spelling: --recompute {} and "
                                    "Megatron's recompute_* are both there",
                                    config::in_quotes(*typed.setting)),
                        "keep one of them"});
  }
  return take(config::parse_recompute(*typed.setting), findings);
}

std::optional<Bytes> settle_budget(const std::optional<std::string>& typed, Findings& findings) {
  if (!typed) return std::nullopt;
  const std::optional<Bytes> budget = config::parse_bytes(*typed);
  if (!budget) {
    findings.push_back(
        {"plan.budget",
         fmt::format("--memory-budget must be an amount of memory: {}", config::in_quotes(*typed)),
         "give a number with B, KiB, MiB, GiB, MB or GB: --memory-budget 700MiB"});
  }
  return budget;
}

/// A run has one plan: a setting, a budget or a file.
void check_one_plan(const TypedRecompute& typed, const config::TrainOptions& options,
                    Findings& findings) {
  const config::MegatronRecompute& megatron = typed.megatron;
  const bool setting = typed.setting || megatron.granularity || megatron.modules ||
                       megatron.method || megatron.num_layers;
  const config::PlanOptions& plan = options.plan;
  const int given = setting + plan.budget.has_value() + !plan.file.empty();
  if (given > 1) {
    findings.push_back(
        {"plan.one-source",
         "what is recomputed must come from one place: --recompute (or recompute_*), "
         "--memory-budget and --plan exclude each other",
         "keep one of them"});
  }
  if ((plan.budget || !plan.file.empty()) && options.replay == ReplayPolicy::kRegion) {
    findings.push_back({"plan.needs-demand",
                        "a plan is for --replay demand, it names activations and no regions: "
                        "--replay region",
                        "leave --replay out"});
  }
}

std::vector<config::RecomputeSetting> settle_settings(const std::string& typed,
                                                      Findings& findings) {
  std::vector<config::RecomputeSetting> settings;
  for (const std::string& text : config::split(typed, ';')) {
    if (text.empty()) continue;  // a trailing semicolon
    settings.push_back(take(config::parse_recompute(text), findings));
  }
  if (settings.empty()) {
    findings.push_back(
        {"run.no-settings",
         fmt::format("--settings must name at least one setting: {}", config::in_quotes(typed)),
         "give --settings 'none;full:uniform:1'"});
  }
  return settings;
}

void declare_training(CommandLine& line, config::TrainOptions& options,
                      std::optional<double>& min_lr) {
  config::OptimizerOptions& optimizer = options.optimizer;
  line.group("Training");
  line.add({"--steps", "N", "optimizer steps in all, resumed ones included"}, options.steps);
  line.add({"--lr", "LR", "highest learning rate"}, optimizer.lr);
  line.add({"--min-lr", "LR", "learning rate after the decay [a tenth of --lr]"}, min_lr);
  line.add({"--warmup-steps", "N", "steps of linear warm-up"}, optimizer.warmup_steps);
  line.add({"--lr-decay-steps", "N", "the cosine reaches --min-lr at this step"},
           optimizer.decay_steps);
  line.add({"--weight-decay", "W", "of AdamW"}, optimizer.weight_decay);
  line.add({"--beta1", "B", "of AdamW"}, optimizer.beta1);
  line.add({"--beta2", "B", "of AdamW"}, optimizer.beta2);
  line.add({"--eval-every", "N", "steps between evaluations; 0: none"}, options.eval.every);
  line.add({"--eval-batches", "N", "micro-batches of an evaluation"}, options.eval.batches);
  line.add({"--save", "DIR", "writes checkpoints there"}, options.checkpoint.save);
  line.add({"--save-every", "N", "steps between checkpoints; 0: at the end only"},
           options.checkpoint.save_every);
  line.add({"--resume", "DIR", "goes on from the checkpoint there"}, options.checkpoint.resume);
  line.add_switch({"--json", "", "one JSON object a step on stdout"}, options.json);
}

/// The last step of each command: the whole is judged unless its model is unknown.
template <class Options>
Parsed<Options> judged(Options options, bool model_found, Findings findings) {
  if (model_found) append(findings, config::validate(options));
  if (rejects(findings)) return {{}, Checked<Options>::reject(std::move(findings))};
  return {{}, Checked<Options>::accept(std::move(options), std::move(findings))};
}

}  // namespace

Parsed<config::TrainOptions> parse_train(const std::vector<std::string>& arguments) {
  CommandLine line(kTrain);
  TypedWorkload workload = default_workload();
  TypedRecompute recompute;
  std::optional<double> min_lr;
  std::optional<std::string> budget;
  config::TrainOptions options;
  declare_workload(line, workload);
  declare_setting(line, workload, recompute, options.replay);
  declare_budget(line, budget, options.plan);
  line.add({"--plan", "FILE", "what `refrain plan --save` wrote"}, options.plan.file);
  declare_data(line, options.data);
  declare_training(line, options, min_lr);
  Reading reading = line.read(arguments);
  if (reading.help) return {std::move(reading.help), {}};

  Findings findings = std::move(reading.findings);
  const bool found = settle_workload(workload, options.model, options.shape, findings);
  options.recompute = settle_recompute(recompute, findings);
  options.plan.budget = settle_budget(budget, findings);
  check_one_plan(recompute, options, findings);
  options.optimizer.min_lr = min_lr.value_or(options.optimizer.lr / 10);
  return judged(std::move(options), found, std::move(findings));
}

Parsed<config::BenchOptions> parse_bench(const std::vector<std::string>& arguments) {
  CommandLine line(kBench);
  TypedWorkload workload = default_workload();
  config::BenchOptions options;
  options.replays = {ReplayPolicy::kDemand};
  options.attentions = {AttentionBackend::kFused};
  std::string settings(kDefaultSweep);
  std::optional<std::string> budget;
  declare_workload(line, workload);
  line.add_choices({"--attention", "fused|unfused|both", "back ends of attention"},
                   options.attentions, kAttentions);
  line.group("Recompute");
  line.add({"--settings", "S;S;...", "what --recompute of `refrain train` takes"}, settings);
  line.add_choices({"--replay", "demand|region|both", "replay policies"}, options.replays,
                   kReplays);
  declare_budget(line, budget, options.plan);
  declare_data(line, options.data);
  line.group("Rounds");
  line.add({"--steps,--rounds", "N", "steps of each setting, one a round"}, options.steps);
  line.add_switch({"--json", "", "one JSON object a setting on stdout"}, options.json);
  Reading reading = line.read(arguments);
  if (reading.help) return {std::move(reading.help), {}};

  Findings findings = std::move(reading.findings);
  const bool found = settle_workload(workload, options.model, options.shape, findings);
  options.shape.attention = options.attentions.front();
  options.settings = settle_settings(settings, findings);
  options.plan.budget = settle_budget(budget, findings);
  return judged(std::move(options), found, std::move(findings));
}

Parsed<config::LedgerOptions> parse_ledger(const std::vector<std::string>& arguments) {
  CommandLine line(kLedger);
  TypedWorkload workload = default_workload();
  TypedRecompute recompute;
  config::LedgerOptions options;
  declare_workload(line, workload);
  declare_setting(line, workload, recompute, options.replay);
  line.group("Output");
  line.add_switch({"--json", "", "one JSON object on stdout"}, options.json);
  line.add_switch({"--csv", "", "one line a step on stdout"}, options.csv);
  Reading reading = line.read(arguments);
  if (reading.help) return {std::move(reading.help), {}};

  Findings findings = std::move(reading.findings);
  const bool found = settle_workload(workload, options.model, options.shape, findings);
  options.recompute = settle_recompute(recompute, findings);
  return judged(std::move(options), found, std::move(findings));
}

Parsed<config::EnginePlanOptions> parse_engine_plan(const std::vector<std::string>& arguments) {
  CommandLine line(kPlan);
  TypedWorkload workload = default_workload();
  std::optional<std::string> budget;
  config::EnginePlanOptions options;
  declare_workload(line, workload);
  line.add_choice({"--attention", "fused|unfused", "back end of attention"},
                  workload.shape.attention, kAttentions);
  declare_budget(line, budget, options.plan);
  line.group("Output");
  line.add({"--save", "FILE", "writes the plan there, for refrain train --plan"}, options.save);
  line.add({"--html", "FILE", "writes the plan there as a page that needs nothing else"},
           options.html);
  line.add_switch({"--exact", "", "searches until the plan is proven least, however long it takes"},
                  options.exact);
  line.add_switch({"--why", "", "why each activation is kept or recomputed"}, options.why);
  line.add_switch({"--json", "", "one JSON object on stdout"}, options.json);
  Reading reading = line.read(arguments);
  if (reading.help) return {std::move(reading.help), {}};

  Findings findings = std::move(reading.findings);
  const bool found = settle_workload(workload, options.model, options.shape, findings);
  options.plan.budget = settle_budget(budget, findings);
  return judged(std::move(options), found, std::move(findings));
}

Parsed<config::CalibrateOptions> parse_calibrate(const std::vector<std::string>& arguments) {
  CommandLine line(kCalibrate);
  TypedWorkload workload = default_workload();
  config::CalibrateOptions options;
  declare_workload(line, workload);
  line.add_choice({"--attention", "fused|unfused", "back end of attention"},
                  workload.shape.attention, kAttentions);
  declare_data(line, options.data);
  line.group("Rates");
  line.add({"--rounds", "N", "training steps that are timed"}, options.rounds);
  line.add({"--name", "NAME", "of the machine, in the file"}, options.name);
  line.add({"--save", "FILE", "writes the rates there, for --rates"}, options.save);
  Reading reading = line.read(arguments);
  if (reading.help) return {std::move(reading.help), {}};

  Findings findings = std::move(reading.findings);
  const bool found = settle_workload(workload, options.model, options.shape, findings);
  return judged(std::move(options), found, std::move(findings));
}

}  // namespace refrain::cli
