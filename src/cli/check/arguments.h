// What `refrain check` and its kin are given: flags of their own, and words that are a
// configuration, in the spelling of whoever wrote it.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "config/inputs/inputs.h"
#include "config/knobs/assignment.h"
#include "config/knobs/dialect.h"

namespace refrain::cli {

struct CheckArguments {
  bool help = false, json = false, effective = false, strict = false;
  std::optional<config::Dialect> dialect;
  std::string batch;   // a path, "-" for stdin; empty: none
  std::string recipe;  // an id; empty: none
  std::string model;   // an architecture, a model of ours, or a config.json; empty: none
  config::HarnessRevision harness = config::kNewestHarness;
  std::vector<std::string> own;    // flags of ours that were given, without their values
  std::vector<std::string> words;  // the rest: files, flags of Megatron, overrides

  config::Dialect dialect_or_ours() const { return dialect.value_or(config::Dialect::kRefrain); }
};

/// Takes the flags that are ours out of the arguments; everything else is part of a configuration.
Checked<CheckArguments> parse_check(const std::vector<std::string>& arguments);

/// Flags of ours that were given to a command that takes only those in `taken`: nothing would heed
/// them.
Findings not_taken(const CheckArguments& arguments, std::initializer_list<std::string_view> taken,
                   std::string_view command);

/// The configuration that the arguments describe: architecture, recipe, files, flags, overrides, in
/// this order. Error where a file cannot be read.
Checked<config::Assignments> read_configuration(const CheckArguments& arguments);

}  // namespace refrain::cli
