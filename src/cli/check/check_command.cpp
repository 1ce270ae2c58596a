// `refrain check`: judges what people really have, before a device is touched.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "base/error.h"
#include "cli/check/arguments.h"
#include "cli/check/batch.h"
#include "cli/check/commands.h"
#include "cli/check/view.h"
#include "cli/spine.h"
#include "config/scan.h"

namespace refrain::cli {
namespace {

constexpr std::string_view kHelp =
    R"(refrain check: judges a training configuration's recompute, offload and graph settings

Usage: refrain check [FILE...] [FLAGS AND OVERRIDES OF MEGATRON...] [FLAGS]
       refrain check --batch FILE [--dialect D]

Files are YAML or JSON. Flags and overrides are those of Megatron-LM, Megatron-Bridge and its
performance harness, in any mixture: later ones win over earlier ones, and all over files, but the
harness applies its own flags after the overrides.

Flags:
  --dialect D      who judges: refrain (default), bridge, or mcore-0.12.3 to mcore-0.19.2
  --recipe ID      start from a published recipe; see refrain recipes
  --model NAME     start from a published architecture, such as deepseek_v3, a model that
                   refrain models lists, or the config.json of a Hugging Face model
  --harness REV    v0.2, v0.3 or v0.5: whose --recompute_modules and -ol are meant
  --effective      print every knob that is set or changed, and where it comes from
  --strict         exit 2 also where something is changed or does nothing
  --json           one JSON object on stdout
  --batch FILE     one JSON object with `kwargs` a line in, one verdict a line out; - is stdin
  --help           print this

Examples:
  refrain check --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
  refrain check cfg.model.recompute_granularity=selective 'cfg.model.recompute_modules=[mlp]'
  refrain check --model llama3_70b -tp 4 -pp 4 --recompute_modules core_attn --effective
  refrain check --dialect mcore-0.19.2 recompute_granularity=full cuda_graph_impl=local

Exit codes: 0 accepted, 2 rejected
)";

int batch(const CheckArguments& arguments) {
  const std::string& path = arguments.batch;
  std::ifstream file;
  std::ios::sync_with_stdio(false);
  if (path != "-") {
    file.open(path);
    if (!file) throw Error("cannot read {}: {}", config::in_quotes(path), std::strerror(errno));
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string line, answers;
  constexpr size_t kFlush = 1 << 16;
  while (std::getline(in, line)) {
    answers += judge_line(line, arguments.dialect);
    answers += '\n';
    if (answers.size() < kFlush) continue;
    print(answers);
    answers.clear();
  }
  print(answers);
  if (in.bad()) throw Error("cannot read {}: it broke off", config::in_quotes(path));
  return kExitOk;
}

bool has(const config::CheckReport& report, std::string_view severity) {
  for (const config::CheckFinding& finding : report.findings) {
    if (finding.severity == severity) return true;
  }
  return false;
}

}  // namespace

int check_command(const std::vector<std::string>& given) {
  const Checked<CheckArguments> arguments = parse_check(given);
  if (!arguments.value) return tell(arguments.findings), kExitFindings;
  if (arguments.value->help) return print(kHelp), kExitOk;
  if (!arguments.value->batch.empty()) return batch(*arguments.value);
  const Checked<config::Assignments> read = read_configuration(*arguments.value);
  const config::CheckReport report = check(read.value.value_or(config::Assignments{}),
                                           read.findings, arguments.value->dialect_or_ours());
  print(arguments.value->json ? json_of(report) : text_of(report, arguments.value->effective));
  const bool quiet_change = has(report, "rewrite") || has(report, "inactive");
  if (!report.accepted || (arguments.value->strict && quiet_change)) return kExitFindings;
  return kExitOk;
}

}  // namespace refrain::cli
