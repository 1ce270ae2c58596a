// `refrain accuracy`: predictions beside measured runs, row by row and in sum.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "accuracy/report/evaluate.h"
#include "accuracy/report/render.h"
#include "base/error.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/spine.h"
#include "config/scan.h"

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
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read {}: {}", path, std::strerror(errno));
  std::string text;
  std::vector<char> piece(64 << 10);
  while (text.size() <= kMostBytes && file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.bad()) throw Error("cannot read {}: {}", path, std::strerror(errno));
  if (text.size() > kMostBytes) throw Error("cannot read {}: over {} MiB", path, kMostBytes >> 20);
  return text;
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
  return text;
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
    tables.push_back({std::filesystem::path(file).filename().string(), *std::move(outcomes.value)});
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
