#include "cli/megatron/megatron_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/command_line.h"
#include "cli/megatron/typed_run.h"
#include "config/scan.h"
#include "plan/megatron/settings.h"

namespace refrain::cli {
namespace {

constexpr CommandText kPlanText = {
    "refrain plan --hardware D",
    "Predicts the bytes of every rank and the step time of a Megatron run, and chooses a setting.",
    "  refrain plan --model llama3-70b --hardware h100-80gb --tp 4 --pp 4 --vpp 5 --dp 2 --seq "
    "4096 "
    "--micro-batch 1 --global-batch 32 --precision fp8-current --anchor 2520:selective:core_attn\n"
    "  refrain plan --model 'DeepSeek V3' --hardware gb200 --pp 4 --vpp 4 --ep 64 --dp 64 "
    "--seq 4096 --micro-batch 1 --global-batch 2048 --precision mxfp8 --emit bridge\n"};

constexpr CommandText kLedgerText = {
    "refrain ledger --mcore",
    "Prints what every pipeline rank of a Megatron run holds at its peak, by account.",
    "  refrain ledger --mcore --model llama3-70b --hardware h100-80gb --tp 4 --pp 4 --vpp 5 --dp 2 "
    "--global-batch 32 --precision fp8-current --recompute selective:mlp --rank 0\n"
    "  refrain ledger --mcore --model 'Llama 3 8B' --hardware h100 --tp 2 --dp 4 --json\n"};

/// The milliseconds and the setting of "2520:selective:mlp"; no setting: that of --recompute.
std::optional<Anchor> read_anchor(const std::string& text, const MegatronRunOptions& options,
                                  Findings& findings) {
  const size_t colon = text.find(':');
  const auto step_ms = config::parse_real(text.substr(0, colon));
  if (!step_ms || !std::isfinite(*step_ms) || *step_ms <= 0) {
    findings.push_back({"plan.anchor",
                        fmt::format("--anchor must be the milliseconds of a measured step, and may "
                                    "name its setting behind a colon: {}",
                                    config::in_quotes(text)),
                        "give --anchor 2520 or --anchor 2520:selective:mlp"});
    return std::nullopt;
  }
  Anchor anchor{.setting = options.setting.value_or(mcore::Recompute{}),
                .measured_s = *step_ms / 1e3};
  if (colon == std::string::npos) return anchor;
  const auto setting = plan::read_setting(text.substr(colon + 1), options.run.model);
  findings.insert(findings.end(), setting.findings.begin(), setting.findings.end());
  if (!setting.value) return std::nullopt;
  anchor.setting = *setting.value;
  return anchor;
}

/// What the measured step says about the device.
void calibrate(const MegatronRunOptions& options, Anchor& anchor, Findings& findings) {
  mcore::Run control = options.run;
  control.recompute = anchor.setting;
  const auto calibration = cost::anchor(control, options.device, anchor.measured_s);
  findings.insert(findings.end(), calibration.findings.begin(), calibration.findings.end());
  if (!calibration.value) return;
  anchor.calibration = *calibration.value;
  anchor.control = cost::step_time(control, options.device, {.calibration = anchor.calibration});
}

template <class Options>
Parsed<Options> rejected(Findings findings) {
  return {{}, Checked<Options>::reject(std::move(findings))};
}

template <class Options>
Parsed<Options> settled(Options options, Findings findings) {
  if (rejects(findings)) return rejected<Options>(std::move(findings));
  return {{}, Checked<Options>::accept(std::move(options), std::move(findings))};
}

bool has_flag(const std::vector<std::string>& arguments, const std::string& flag) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument == flag || argument.starts_with(flag + "=");
  });
}

}  // namespace

std::string_view to_text(Emit emit) {
  switch (emit) {
    case Emit::kNone:
      return "none";
    case Emit::kMegatronLm:
      return "megatron-lm";
    case Emit::kBridge:
      return "bridge";
  }
  return "?";
}

bool names_hardware(const std::vector<std::string>& arguments) {
  return has_flag(arguments, "--hardware");
}

bool names_mcore(const std::vector<std::string>& arguments) {
  return has_flag(arguments, "--mcore");
}

Parsed<MegatronPlanOptions> parse_megatron_plan(const std::vector<std::string>& arguments) {
  CommandLine line(kPlanText);
  TypedRun typed;
  MegatronPlanOptions options;
  std::optional<std::string> anchor;
  declare_run(line, typed);
  line.group("Plan");
  line.add({"--anchor", "MS[:SETTING]",
            "a measured step, to scale times by, and its setting [that of --recompute, or none]"},
           anchor);
  line.add_choice({"--emit", "none|megatron-lm|bridge", "prints just the setting, to be pasted"},
                  options.emit, {Emit::kNone, Emit::kMegatronLm, Emit::kBridge});
  line.add_switch({"--json", "", "one JSON object on stdout"}, options.json);
  Reading reading = line.read(arguments);
  if (reading.help) return {std::move(reading.help), {}};
  if (rejects(reading.findings)) return rejected<MegatronPlanOptions>(std::move(reading.findings));
  auto run = settle_run(typed, std::move(reading.findings));
  if (!run.value) return rejected<MegatronPlanOptions>(std::move(run.findings));
  static_cast<MegatronRunOptions&>(options) = *std::move(run.value);
  if (anchor) options.anchor = read_anchor(*anchor, options, run.findings);
  if (options.anchor) calibrate(options, *options.anchor, run.findings);
  return settled(std::move(options), std::move(run.findings));
}

Parsed<MegatronLedgerOptions> parse_megatron_ledger(const std::vector<std::string>& arguments) {
  CommandLine line(kLedgerText);
  TypedRun typed;
  MegatronLedgerOptions options;
  bool mcore = false;
  declare_run(line, typed);
  line.group("Ledger");
  line.add_switch({"--mcore", "", "a Megatron run, not one of Refrain's engine"}, mcore);
  line.add({"--rank", "R", "this pipeline rank only, from 0 [all]"}, options.rank);
  line.add_switch({"--json", "", "one JSON object on stdout"}, options.json);
  Reading reading = line.read(arguments);
  if (reading.help) return {std::move(reading.help), {}};
  if (rejects(reading.findings)) {
    return rejected<MegatronLedgerOptions>(std::move(reading.findings));
  }
  auto run = settle_run(typed, std::move(reading.findings));
  if (!run.value) return rejected<MegatronLedgerOptions>(std::move(run.findings));
  static_cast<MegatronRunOptions&>(options) = *std::move(run.value);
  const int64_t last = options.run.parallel.pipeline - 1;
  if (options.rank && (*options.rank < 0 || *options.rank > last)) {
    run.findings.push_back(
        {"ledger.no-such-rank",
         fmt::format("--rank must be a pipeline rank, from 0 to {}: {}", last, *options.rank),
         "leave it out for all of them"});
  }
  return settled(std::move(options), std::move(run.findings));
}

}  // namespace refrain::cli
