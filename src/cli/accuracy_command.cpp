// `refrain accuracy`: predictions beside measured runs, row by row and in sum.
#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "accuracy/report/evaluate.h"
#include "accuracy/report/render.h"
#include "base/error.h"
#include "base/text_file.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/spine.h"
#include "config/scan.h"
#include "config/word.h"

namespace refrain::cli {
namespace {

constexpr CommandText kAccuracy = {
    "refrain accuracy",
    "Predicts peaks and step times of measured runs, and says how far off they are.\n"
    "Takes FILE.csv...: tables with the columns of data/accuracy/megatron_ci.csv (Megatron-LM's\n"
    "functional tests) or data/accuracy/measured.csv (published measurements).",
    "  refrain accuracy data/accuracy/measured.csv\n"
    "  refrain accuracy data/accuracy/megatron_ci.csv --json\n"};

constexpr size_t kMostBytes = 256 << 20;

std::string text_of(const std::string& path) {
  FileText file = read_file(path, kMostBytes);
  if (file.trouble) throw Error("reading a table: {} {}", config::in_quotes(path), file.reason);
  return std::move(file.text);
}

/// What does not begin with a dash is a file.
std::vector<std::string> take_files(std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  std::erase_if(arguments, [&](const std::string& argument) {
    if (argument.starts_with("-")) return false;
    files.push_back(argument);
    return true;
  });
  return files;
}

std::string shown(const std::vector<accuracy::Evaluated>& tables, bool json, bool markdown) {
  if (markdown) return accuracy::to_markdown(tables);
  std::string text;
  for (const accuracy::Evaluated& table : tables) {
    if (tables.size() > 1 && !json) text += fmt::format("{}\n\n", table.file);
    text += json ? accuracy::to_json_lines(table) : accuracy::to_text(table);
  }
  return json ? text : config::for_terminal(text);
}

/// Findings of all files at once.
Checked<std::vector<accuracy::Evaluated>> evaluated(const std::vector<std::string>& files) {
  std::vector<accuracy::Evaluated> tables;
  Findings findings;
  for (const std::string& file : files) {
    auto outcomes = accuracy::evaluate(text_of(file));
    for (Finding& finding : outcomes.findings) {
      finding.message = fmt::format("{}: {}", config::in_quotes(file), finding.message);
      findings.push_back(std::move(finding));
    }
    if (!outcomes.value) continue;
    tables.push_back({config::as_word(std::filesystem::path(file).filename().string()),
                      *std::move(outcomes.value)});
  }
  using Tables = Checked<std::vector<accuracy::Evaluated>>;
  return rejects(findings) ? Tables::reject(std::move(findings))
                           : Tables::accept(std::move(tables));
}

Findings misused(const std::vector<std::string>& files, bool json, bool markdown) {
  Findings findings;
  if (files.empty()) {
    findings.push_back({"accuracy.no-file", "a table of measured runs must be given: there is none",
                        "refrain accuracy FILE.csv; see refrain accuracy --help"});
  }
  if (json && markdown) {
    findings.push_back({"accuracy.two-formats", "one of --json and --markdown must be given: both",
                        "leave one out"});
  }
  return findings;
}

}  // namespace

int accuracy_command(const std::vector<std::string>& given) {
  std::vector<std::string> arguments = given;
  const std::vector<std::string> files = take_files(arguments);
  bool json = false, markdown = false;
  CommandLine line(kAccuracy);
  line.add_switch({"--json", "", "a JSON object a row, then one with the sums"}, json);
  line.add_switch({"--markdown", "", "docs/accuracy.md: the errors, worst first"}, markdown);
  Reading reading = line.read(arguments);
  if (reading.help) return print(*reading.help), kExitOk;
  for (Finding& finding : misused(files, json, markdown)) {
    reading.findings.push_back(std::move(finding));
  }
  if (rejects(reading.findings)) return tell(reading.findings), kExitFindings;
  const auto tables = evaluated(files);
  if (!tables.value) return tell(tables.findings), kExitFindings;
  print(shown(*tables.value, json, markdown));
  return kExitOk;
}

}  // namespace refrain::cli
