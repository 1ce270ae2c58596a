// From what was typed to what is carried out: one function a command, every finding at once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "config/run_options.h"

namespace refrain::cli {

/// The help that was asked for, or the options, or the findings that kept them from being made.
template <class Options>
struct Parsed {
  std::optional<std::string> help;
  Checked<Options> options;
};

// `arguments` are those after the command's name. The defaults stand in the help.
Parsed<config::TrainOptions> parse_train(const std::vector<std::string>& arguments);
Parsed<config::BenchOptions> parse_bench(const std::vector<std::string>& arguments);
Parsed<config::LedgerOptions> parse_ledger(const std::vector<std::string>& arguments);
Parsed<config::CalibrateOptions> parse_calibrate(const std::vector<std::string>& arguments);
Parsed<config::EnginePlanOptions> parse_engine_plan(const std::vector<std::string>& arguments);

}  // namespace refrain::cli
