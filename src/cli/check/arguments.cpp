#include "cli/check/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "config/inputs/hugging_face/model_knobs.h"
#include "config/model_config.h"
#include "config/recipes/architecture.h"
#include "config/recipes/recipe.h"
#include "config/scan.h"

namespace refrain::cli {
namespace {

using config::Assignments;
using config::HarnessRevision;

struct OwnSwitch {
  std::string_view name;
  bool CheckArguments::*target;
};
constexpr OwnSwitch kSwitches[] = {{"--help", &CheckArguments::help},
                                   {"-h", &CheckArguments::help},
                                   {"--json", &CheckArguments::json},
                                   {"--effective", &CheckArguments::effective},
                                   {"--strict", &CheckArguments::strict}};

struct OwnText {
  std::string_view name;
  std::string CheckArguments::*target;
};
constexpr OwnText kTexts[] = {{"--batch", &CheckArguments::batch},
                              {"--recipe", &CheckArguments::recipe},
                              {"--model", &CheckArguments::model}};

struct Revision {
  std::string_view name;
  HarnessRevision revision;
};
constexpr Revision kRevisions[] = {{"v0.2", HarnessRevision::kV0_2},
                                   {"v0.3", HarnessRevision::kV0_3},
                                   {"v0.5", HarnessRevision::kV0_5}};

bool take_switch(const std::string& word, CheckArguments& arguments) {
  for (const OwnSwitch& own : kSwitches) {
    if (word != own.name) continue;
    arguments.*own.target = true;
    arguments.own.push_back(word);
    return true;
  }
  return false;
}

bool names_value(std::string_view name) {
  if (name == "--dialect" || name == "--harness") return true;
  for (const OwnText& own : kTexts) {
    if (name == own.name) return true;
  }
  return false;
}

Checked<HarnessRevision> parse_harness(const std::string& text) {
  std::vector<std::string> names;
  for (const Revision& known : kRevisions) {
    if (text == known.name) return Checked<HarnessRevision>::accept(known.revision);
    names.emplace_back(known.name);
  }
  return Checked<HarnessRevision>::reject(
      {{"check.unknown-harness",
        fmt::format("the harness's revision must be one of {}: {}", config::joined(names),
                    config::in_quotes(text)),
        "leave it out for the newest"}});
}

void take_value(std::string_view name, const std::string& value, CheckArguments& arguments,
                Findings& findings) {
  if (value.empty()) {
    return findings.push_back({"cli.missing-value",
                               fmt::format("{} must have a value: it is empty", name),
                               "give the value, or leave the flag out"});
  }
  for (const OwnText& own : kTexts) {
    if (name == own.name) arguments.*own.target = value;
  }
  if (name == "--dialect") {
    auto parsed = config::parse_dialect(value);
    arguments.dialect = parsed.value;
    std::move(parsed.findings.begin(), parsed.findings.end(), std::back_inserter(findings));
  }
  if (name == "--harness") {
    auto parsed = parse_harness(value);
    arguments.harness = parsed.value.value_or(config::kNewestHarness);
    std::move(parsed.findings.begin(), parsed.findings.end(), std::back_inserter(findings));
  }
}

/// True for what is a path whatever lies there; a Hugging Face id has a slash too.
bool is_path(const std::string& name) {
  std::error_code ignored;
  return name.ends_with(".json") || name.starts_with('/') || name.starts_with('.') ||
         name.starts_with('~') || std::filesystem::exists(name, ignored);
}

/// A published architecture, a model that `refrain models` names, or a Hugging Face config.json.
Checked<Assignments> read_model(const std::string& name) {
  if (const auto* known = config::architecture_named(name)) {
    return Checked<Assignments>::accept(known->assignments);
  }
  for (const config::ModelConfig& model : config::named_models()) {
    if (model.name != name) continue;
    return Checked<Assignments>::accept(
        decoder_knobs(model, {config::Origin::kRecipe, model.name}));
  }
  if (is_path(name)) return config::read_model_knobs(name);
  return Checked<Assignments>::reject(config::find_architecture(name).findings);
}

template <class T>
void append(Checked<T> read, Assignments& assignments, Findings& findings) {
  std::move(read.findings.begin(), read.findings.end(), std::back_inserter(findings));
  if (!read.value) return;
  if constexpr (std::is_same_v<T, Assignments>) {
    std::move(read.value->begin(), read.value->end(), std::back_inserter(assignments));
  } else {
    auto& found = read.value->assignments;
    std::move(found.begin(), found.end(), std::back_inserter(assignments));
  }
}

}  // namespace

Checked<CheckArguments> parse_check(const std::vector<std::string>& given) {
  CheckArguments arguments;
  Findings findings;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string& word = given[i];
    if (take_switch(word, arguments)) continue;
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (!names_value(name)) {
      arguments.words.push_back(word);
      continue;
    }
    arguments.own.push_back(name);
    if (equals != std::string::npos) {
      take_value(name, word.substr(equals + 1), arguments, findings);
    } else if (i + 1 < given.size()) {
      take_value(name, given[++i], arguments, findings);
    } else {
      findings.push_back(
          {"cli.missing-value",
           fmt::format("{} must be followed by its value: it is the last word", name),
           "give the value, or leave the flag out"});
    }
  }
  if (rejects(findings)) return Checked<CheckArguments>::reject(std::move(findings));
  return Checked<CheckArguments>::accept(std::move(arguments), std::move(findings));
}

Findings not_taken(const CheckArguments& arguments, std::initializer_list<std::string_view> taken,
                   std::string_view command) {
  Findings findings;
  for (const std::string& flag : arguments.own) {
    if (std::ranges::find(taken, flag) != taken.end()) continue;
    findings.push_back({"cli.unknown-flag", fmt::format("{} has no such flag: {}", command, flag),
                        fmt::format("leave it out; see {} --help", command)});
  }
  return findings;
}

Checked<Assignments> read_configuration(const CheckArguments& arguments) {
  Assignments assignments;
  Findings findings;
  if (!arguments.model.empty()) {
    append(read_model(arguments.model), assignments, findings);
  }
  if (!arguments.recipe.empty()) {
    append(config::find_recipe(arguments.recipe), assignments, findings);
  }
  append(config::read_words(arguments.words, {arguments.harness, arguments.dialect_or_ours()}),
         assignments, findings);
  if (rejects(findings)) return Checked<Assignments>::reject(std::move(findings));
  return Checked<Assignments>::accept(std::move(assignments), std::move(findings));
}

}  // namespace refrain::cli
