// `refrain rules` and `refrain knobs`: the tables, printed. docs/rules.md and docs/knobs.md are
// what they print with --markdown.
#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/check/commands.h"
#include "cli/check/view.h"
#include "cli/command_line.h"
#include "cli/spine.h"
#include "config/knobs/knob_table.h"
#include "config/rules/table/rule_table.h"

namespace refrain::cli {
namespace {

using config::Knob;
using config::Rule;

/// A bar would end the cell.
std::string in_cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string in_code(std::string_view text) { return fmt::format("`{}`", in_cell(text)); }

std::string markdown_of_rules() {
  std::string text =
      "# Rules\n\n"
      "What `refrain check` holds a configuration against, in the order in which Megatron-Core\n"
      "checks it: the first error is the one that a release raises. Written by\n"
      "`refrain rules --markdown`; `make docs` writes this page.\n\n"
      "`rewrite` is accepted and changes something, `inactive` is accepted and does nothing,\n"
      "`note` is useless, costly or deprecated, or needs what a check cannot see; `fill` fills in "
      "a\n"
      "default.\n\n"
      "| rule | outcome | dialects | because | remedy |\n| --- | --- | --- | --- | --- |\n";
  for (const Rule* rule : config::all_rules()) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", in_code(rule->id), to_text(rule->outcome),
                        to_text(rule->dialects), in_cell(rule->because), in_cell(rule->remedy));
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
    text += fmt::format("| {} | {} | {} | {} | {} |\n", in_code(knob.name), in_cell(legal_of(knob)),
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

}  // namespace refrain::cli
