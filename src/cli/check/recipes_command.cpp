// `refrain recipes` and `refrain diff`: published configurations, and what two differ in.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text_table.h"
#include "cli/check/arguments.h"
#include "cli/check/commands.h"
#include "cli/check/view.h"
#include "cli/spine.h"
#include "config/check/check.h"
#include "config/recipes/recipe.h"
#include "config/scan.h"

namespace refrain::cli {
namespace {

using config::Knob;
using config::Recipe;
using config::Value;

constexpr std::string_view kRecipesHelp =
    R"(refrain recipes: lists the published recipes of Megatron-Bridge and Megatron-LM

Usage: refrain recipes [WORD...] [--json | --verdicts [--markdown]] [--dialect D]

Those whose id, model, family, GPU or precision contains every word.

Flags:
  --json           one JSON list on stdout
  --verdicts       judge each, and list those that are rejected or carry what does nothing
  --markdown       with --verdicts: docs/recipes.md
  --dialect D      who judges; default bridge
  --help           print this

Examples:
  refrain recipes deepseek b200
  refrain recipes llama --json
)";

constexpr std::string_view kDiffHelp =
    R"(refrain diff: what two configurations differ in, effective values included

Usage: refrain diff A B [--dialect D] [--harness REV]

A and B are each a recipe's id, a file, or flags and overrides in one quoted word, read as
refrain check reads them.

Examples:
  refrain diff a.yaml b.yaml
  refrain diff 'recompute_granularity=full recompute_method=uniform recompute_num_layers=1' recompute_granularity=null
)";

const Value* assigned(const Recipe& recipe, std::string_view knob) {
  for (auto it = recipe.assignments.rbegin(); it != recipe.assignments.rend(); ++it) {
    if (it->knob == knob) return &it->value;
  }
  return nullptr;
}

std::string shown(const Recipe& recipe, std::string_view knob) {
  const Value* value = assigned(recipe, knob);
  if (value == nullptr || value->is_null()) return "-";
  return value->is_string() ? value->get<std::string>() : written(*value);
}

std::string table_of(const std::vector<const Recipe*>& recipes) {
  TextTable table({{"recipe"},
                   {"gpus", Align::kRight},
                   {"tp", Align::kRight},
                   {"pp", Align::kRight},
                   {"granularity"},
                   {"labels"},
                   {"method"},
                   {"layers", Align::kRight}});
  for (const Recipe* recipe : recipes) {
    table.add_row({recipe->id, recipe->num_gpus ? fmt::format("{}", *recipe->num_gpus) : "-",
                   shown(*recipe, "tensor_model_parallel_size"),
                   shown(*recipe, "pipeline_model_parallel_size"),
                   shown(*recipe, "recompute_granularity"), shown(*recipe, "recompute_modules"),
                   shown(*recipe, "recompute_method"), shown(*recipe, "recompute_num_layers")});
  }
  return table.to_text();
}

std::string json_of(const std::vector<const Recipe*>& recipes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Recipe* recipe : recipes) {
    nlohmann::ordered_json knobs = nlohmann::ordered_json::object();
    for (const config::Assignment& one : recipe->assignments) knobs[one.knob] = one.value;
    list.push_back({{"id", recipe->id},
                    {"model", recipe->model},
                    {"family", recipe->family},
                    {"task", recipe->task},
                    {"gpu", recipe->gpu},
                    {"precision", recipe->precision},
                    {"num_gpus", recipe->num_gpus ? Value(*recipe->num_gpus) : Value()},
                    {"source", recipe->source},
                    {"knobs", std::move(knobs)},
                    {"notes", recipe->notes}});
  }
  return list.dump() + "\n";
}

/// A recipe that is rejected, or that carries what does nothing.
struct Oddity {
  const Recipe* recipe;
  std::string severity, finding, message;
};

std::vector<Oddity> oddities(const std::vector<const Recipe*>& recipes, config::Dialect dialect) {
  std::vector<Oddity> found;
  for (const Recipe* recipe : recipes) {
    const config::CheckReport report = check(recipe->assignments, {}, dialect);
    for (const config::CheckFinding& finding : report.findings) {
      if (finding.severity != "error" && finding.severity != "inactive") continue;
      found.push_back({recipe, finding.severity == "error" ? "rejected" : "does nothing",
                       finding.id, finding.message});
    }
  }
  return found;
}

std::string text_of_oddities(const std::vector<Oddity>& found, size_t judged, bool markdown) {
  if (!markdown) {
    TextTable table({{"recipe"}, {"verdict"}, {"rule"}, {"because"}});
    for (const Oddity& odd : found) {
      table.add_row({odd.recipe->id, odd.severity, odd.finding, odd.message});
    }
    return table.to_text() + fmt::format("{} findings in {} recipes\n", found.size(), judged);
  }
  std::string text = fmt::format(
      "# Published recipes that carry what does nothing, or are rejected\n\n"
      "Judged by `refrain recipes --verdicts --markdown` (dialect `bridge`): {} recipes, {} "
      "findings."
      "\nA recipe is judged as its table row and its architecture tell it; what neither tells is "
      "at\n"
      "its default, and layers nobody tells are not judged. `make docs` writes this page.\n\n"
      "| recipe | verdict | rule | because |\n| --- | --- | --- | --- |\n",
      judged, found.size());
  for (const Oddity& odd : found) {
    text += fmt::format("| `{}` | {} | `{}` | {} |\n", odd.recipe->id, odd.severity, odd.finding,
                        odd.message);
  }
  return text;
}

bool take(std::vector<std::string>& words, std::string_view flag) {
  return std::erase(words, std::string(flag)) > 0;
}

/// One side of a diff: a recipe, a file, or words with blanks between them.
Checked<config::Assignments> side(const std::string& text, config::FlagReleases releases) {
  if (const Recipe* recipe = config::recipe_named(text)) {
    return Checked<config::Assignments>::accept(recipe->assignments);
  }
  std::vector<std::string> words = config::split(text, ' ');
  std::erase(words, "");
  return config::read_words(words, releases);
}

/// A side as the release judges it, what kept it from being read told; nothing where that rejects
/// it.
std::optional<config::CheckReport> report_of(const std::string& text,
                                             config::FlagReleases releases) {
  const Checked<config::Assignments> read = side(text, releases);
  tell(read.findings);
  if (!read.value) return std::nullopt;
  tell(configure(*read.value, releases.megatron).findings);
  config::CheckReport report = check(*read.value, read.findings, releases.megatron);
  return report.given ? std::optional(std::move(report)) : std::nullopt;
}

}  // namespace

int recipes_command(const std::vector<std::string>& given) {
  const Checked<CheckArguments> arguments = parse_check(given);
  if (!arguments.value) return tell(arguments.findings), kExitFindings;
  if (arguments.value->help) return print(kRecipesHelp), kExitOk;
  const Findings idle = not_taken(*arguments.value, {"--dialect", "--json"}, "refrain recipes");
  if (rejects(idle)) return tell(idle), kExitFindings;
  std::vector<std::string> words = arguments.value->words;
  const bool verdicts = take(words, "--verdicts"), markdown = take(words, "--markdown");
  for (const std::string& word : words) {
    if (!word.starts_with("-")) continue;
    tell({{"cli.unknown-flag", fmt::format("a flag must be known: {}", config::in_quotes(word)),
           "see refrain recipes --help"}});
    return kExitFindings;
  }
  const std::vector<const Recipe*> found = config::filter_recipes(words);
  if (verdicts) {
    const auto dialect = arguments.value->dialect.value_or(config::Dialect::kBridge);
    print(text_of_oddities(oddities(found, dialect), found.size(), markdown));
    return kExitOk;
  }
  print(arguments.value->json ? json_of(found) : table_of(found));
  return kExitOk;
}

int diff_command(const std::vector<std::string>& given) {
  const Checked<CheckArguments> arguments = parse_check(given);
  if (!arguments.value) return tell(arguments.findings), kExitFindings;
  if (arguments.value->help) return print(kDiffHelp), kExitOk;
  const Findings idle = not_taken(*arguments.value, {"--dialect", "--harness"}, "refrain diff");
  if (rejects(idle)) return tell(idle), kExitFindings;
  const std::vector<std::string>& words = arguments.value->words;
  if (words.size() != 2) {
    tell({{"cli.two-configurations",
           fmt::format("diff takes two configurations: {} given", words.size()),
           "put overrides of one side into one quoted word"}});
    return kExitFindings;
  }
  const config::Dialect dialect = arguments.value->dialect_or_ours();
  const config::FlagReleases releases = {arguments.value->harness, dialect};
  const auto a = report_of(words[0], releases), b = report_of(words[1], releases);
  if (!a || !b) return kExitFindings;
  TextTable table({{"knob"}, {"A"}, {"B"}, {"A effective"}, {"B effective"}});
  for (const Knob& knob : config::knob_table()) {
    if (!knob.dialects.has(dialect)) continue;
    const auto value = [&](const config::CheckReport& report, bool effective) {
      const bool use = effective && report.accepted;
      return value_of(use ? report.effective : report.given->knobs, knob);
    };
    if (value(*a, false) == value(*b, false) && value(*a, true) == value(*b, true)) continue;
    table.add_row({std::string(knob.name), written(value(*a, false)), written(value(*b, false)),
                   written(value(*a, true)), written(value(*b, true))});
  }
  print(fmt::format("A is {}, B is {} by {}\n{}", a->accepted ? "accepted" : "rejected",
                    b->accepted ? "accepted" : "rejected", to_text(dialect), table.to_text()));
  return kExitOk;
}

}  // namespace refrain::cli
