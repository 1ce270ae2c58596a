// `refrain rules`, `refrain knobs` and `refrain explain`: the tables, printed. docs/rules.md and
// docs/knobs.md are what they print with --markdown.
#include <fmt/format.h>

#include <algorithm>

#include "base/text_table.h"
#include "cli/check/commands.h"
#include "cli/check/view.h"
#include "cli/command_line.h"
#include "cli/spine.h"
#include "config/knobs/knob_table.h"
#include "config/recompute_setting.h"
#include "config/rules/rule.h"
#include "config/scan.h"

namespace refrain::cli {
namespace {

using config::Knob;
using config::Rule;
using config::Value;

std::string in_code(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return fmt::format("`{}`", escaped);
}

std::string legal_of(const Knob& knob) {
  return std::string(knob.legal.empty() ? type_name(knob) : knob.legal);
}

std::string default_of(const Knob& knob) { return written(value_of(config::Knobs{}, knob)); }

std::string explained(const Knob& knob) {
  std::string text =
      fmt::format("{}: {}\n  values: {}\n  default: {}\n  in: {}\n", knob.name, knob.effect,
                  legal_of(knob), default_of(knob), to_text(knob.dialects));
  if (!knob.aliases.empty()) text += fmt::format("  also: {}\n", knob.aliases);
  text += "  rules:";
  for (const Rule* rule : config::all_rules()) {
    const auto names = config::split(rule->knobs, ' ');
    if (std::find(names.begin(), names.end(), knob.name) != names.end()) {
      text += fmt::format(" {}", rule->id);
    }
  }
  return text + "\n";
}

std::string explained(const Rule& rule) {
  std::string text =
      fmt::format("{}: {}\n  {}\n  in: {}\n  knobs: {}\n", rule.id, to_text(rule.outcome),
                  rule.because, to_text(rule.dialects), rule.knobs);
  if (!rule.remedy.empty()) text += fmt::format("  remedy: {}\n", rule.remedy);
  return text;
}

/// Labels of ours; Megatron's further ones are explained by the rules that name them.
std::string explained(const config::LabelRow& label) {
  return fmt::format("{} (a label of recompute_modules): {}\n", label.name, label.meaning);
}

std::string markdown_of_rules() {
  std::string text =
      "# Rules\n\n"
      "What `refrain check` holds a configuration against, in the order in which Megatron-Core\n"
      "checks it: the first error is the one that a release raises. Written by\n"
      "`refrain rules --markdown`; `make docs` writes this page.\n\n"
      "`rewrite` is accepted and changes something, `inactive` is accepted and does nothing,\n"
      "`note` is known to be useless or costly, `fill` fills in a default.\n\n"
      "| rule | outcome | dialects | because | remedy |\n| --- | --- | --- | --- | --- |\n";
  for (const Rule* rule : config::all_rules()) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", in_code(rule->id), to_text(rule->outcome),
                        to_text(rule->dialects), rule->because, rule->remedy);
  }
  return text;
}

std::string markdown_of_knobs() {
  std::string text =
      "# Knobs\n\n"
      "Every knob that `refrain check` judges: the fields of Megatron-Core's configuration "
      "classes\n"
      "that a rule or a prediction reads. Written by `refrain knobs --markdown`; `make docs` "
      "writes\n"
      "this page. Defaults are those of the newest release; see `refrain explain KNOB`.\n";
  std::string_view group;
  for (const Knob& knob : config::knob_table()) {
    if (knob.group != group) {
      group = knob.group;
      text += fmt::format(
          "\n## {}\n\n| knob | values | default | effect | dialects |\n"
          "| --- | --- | --- | --- | --- |\n",
          group);
    }
    std::string legal = legal_of(knob);
    for (size_t at = 0; (at = legal.find('|', at)) != std::string::npos; at += 2) {
      legal.insert(at, "\\");
    }
    text += fmt::format("| {} | {} | {} | {} | {} |\n", in_code(knob.name), legal,
                        in_code(default_of(knob)), knob.effect, to_text(knob.dialects));
  }
  return text;
}

}  // namespace

int rules_command(const std::vector<std::string>& arguments) {
  std::string dialect;
  bool markdown = false;
  CommandLine line({"refrain rules",
                    "Lists the rules that refrain check holds configurations against.",
                    "  refrain rules\n  refrain rules --dialect mcore-0.16.1\n"});
  line.add({"--dialect", "D", "only the rules of this dialect"}, dialect);
  line.add_switch({"--markdown", "", "docs/rules.md"}, markdown);
  const Reading reading = line.read(arguments);
  if (reading.help) return print(*reading.help), kExitOk;
  if (rejects(reading.findings)) return tell(reading.findings), kExitFindings;
  if (markdown) return print(markdown_of_rules()), kExitOk;
  std::optional<config::Dialect> only;
  if (!dialect.empty()) {
    const auto parsed = config::parse_dialect(dialect);
    if (!parsed.value) return tell(parsed.findings), kExitFindings;
    only = parsed.value;
  }
  TextTable table({{"rule"}, {"outcome"}, {"because"}});
  for (const Rule* rule : config::all_rules()) {
    if (only && !rule->dialects.has(*only)) continue;
    table.add_row(
        {std::string(rule->id), std::string(to_text(rule->outcome)), std::string(rule->because)});
  }
  print(table.to_text());
  return kExitOk;
}

int knobs_command(const std::vector<std::string>& arguments) {
  bool markdown = false;
  CommandLine line(
      {"refrain knobs", "Lists the knobs that refrain check judges.", "  refrain knobs\n"});
  line.add_switch({"--markdown", "", "docs/knobs.md"}, markdown);
  const Reading reading = line.read(arguments);
  if (reading.help) return print(*reading.help), kExitOk;
  if (rejects(reading.findings)) return tell(reading.findings), kExitFindings;
  if (markdown) return print(markdown_of_knobs()), kExitOk;
  TextTable table({{"knob"}, {"values"}, {"default"}, {"effect"}});
  for (const Knob& knob : config::knob_table()) {
    table.add_row(
        {std::string(knob.name), legal_of(knob), default_of(knob), std::string(knob.effect)});
  }
  print(table.to_text());
  return kExitOk;
}

int explain_command(const std::vector<std::string>& arguments) {
  constexpr std::string_view kUsage =
      "refrain explain: explains a rule, a knob or a label\n\n"
      "Usage: refrain explain RULE|KNOB|LABEL\n\n"
      "Examples:\n  refrain explain recompute.method-missing\n"
      "  refrain explain recompute_num_layers\n  refrain explain mlp\n";
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
    return print(kUsage), kExitOk;
  }
  if (arguments.size() != 1) {
    tell({{"cli.one-name", fmt::format("explain takes one name: {} given", arguments.size()),
           "refrain explain recompute.method-missing"}});
    return kExitFindings;
  }
  const std::string& name = arguments[0];
  std::string text;
  std::vector<std::string> names;
  for (const Rule* rule : config::all_rules()) {
    names.emplace_back(rule->id);
    if (rule->id == name) text += explained(*rule);
  }
  if (const Knob* knob = config::find_knob(name)) text += explained(*knob);
  for (const Knob& knob : config::knob_table()) names.emplace_back(knob.name);
  for (const config::LabelRow& label : config::label_rows()) {
    names.emplace_back(label.name);
    if (label.name == name) text += explained(label);
  }
  if (!text.empty()) return print(text), kExitOk;
  const auto near = nearest(name, names);
  tell({{"explain.unknown",
         fmt::format("a rule, a knob or a label must be named: {}", config::in_quotes(name)),
         near ? fmt::format("did you mean {}?", *near) : "see refrain rules and refrain knobs"}});
  return kExitFindings;
}

}  // namespace refrain::cli
