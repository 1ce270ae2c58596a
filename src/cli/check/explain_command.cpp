// `refrain explain`: a rule, a knob or a label, as the tables have it.
#include <fmt/format.h>

#include "cli/check/commands.h"
#include "cli/check/view.h"
#include "cli/spine.h"
#include "config/knobs/knob_table.h"
#include "config/rules/known_labels.h"
#include "config/rules/label_effect.h"
#include "config/rules/table/rule_table.h"
#include "config/scan.h"

namespace refrain::cli {
namespace {

using config::Knob;
using config::LabelList;
using config::ModuleLabel;
using config::Rule;

constexpr std::string_view kUsage =
    "refrain explain: explains a rule, a knob, a label, or a plan that refrain plan --save "
    "wrote\n\n"
    "Usage: refrain explain RULE|KNOB|LABEL|PLAN.json\n\n"
    "Examples:\n  refrain explain recompute.method-missing\n"
    "  refrain explain recompute_num_layers\n  refrain explain moe_act\n";

/// "  what: text" on a line; nothing where there is no text.
std::string line(std::string_view what, std::string_view text) {
  return text.empty() ? "" : fmt::format("  {}: {}\n", what, text);
}

std::string explained(const Rule& rule) {
  return fmt::format("{}: {}\n  {}\n", rule.id, to_text(rule.outcome), rule.because) +
         line("in", to_text(rule.dialects)) + line("knobs", rule.knobs) +
         line("labels", rule.labels) + line("remedy", rule.remedy);
}

std::string explained(const Knob& knob) {
  std::vector<std::string> rules;
  for (const Rule* rule : config::all_rules()) {
    if (config::is_among(rule->knobs, knob.name)) rules.emplace_back(rule->id);
  }
  return fmt::format("{}: {}\n", knob.name, knob.effect) + line("values", legal_of(knob)) +
         line("default", default_of(knob)) + line("in", to_text(knob.dialects)) +
         line("also", knob.aliases) + line("rules", config::joined(rules, " "));
}

std::string first_release(const ModuleLabel& label) {
  if (label.since == config::kRefrainAlone) return "Refrain's own";
  if (label.since == config::kMegatronMain) return "Megatron-Core's main, after 0.19.2";
  const bool is_first = dialects_of(label) == config::kEverywhere;  // no older one is judged
  return fmt::format("Megatron-Core {}{}", label.since, is_first ? " or earlier" : "");
}

std::string explained(const ModuleLabel& label) {
  const bool recompute = label.list == LabelList::kRecompute;
  std::string text =
      fmt::format("{} (a label of {}): {}\n", label.name, to_text(label.list), label.meaning);
  text += line("kept", label.kept) + line("runs again", label.replayed) +
          line(recompute ? "freed" : "goes to the host", label.freed) + line("needs", label.needs) +
          line("since", first_release(label)) + line("in", to_text(dialects_of(label)));
  text += line("does nothing where", recompute ? "recompute_granularity is null or full"
                                               : "fine_grained_activation_offloading is false");
  for (const std::string_view reason : config::inactive_reasons(label.list, label.name)) {
    text += line("does nothing where", reason);
  }
  return text;
}

/// What the word means in either list, and the rules that name it.
std::string explained_label(std::string_view name) {
  std::string text;
  for (const ModuleLabel& label : config::label_table()) {
    if (label.name == name) text += explained(label);
  }
  if (text.empty()) return text;
  for (const Rule* rule : config::all_rules()) {
    if (!config::is_among(rule->labels, name)) continue;
    text += line(fmt::format("rule {} ({})", rule->id, to_text(rule->outcome)), rule->because);
  }
  return text;
}

Finding unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const Rule* rule : config::all_rules()) names.emplace_back(rule->id);
  for (const Knob& knob : config::knob_table()) names.emplace_back(knob.name);
  for (const ModuleLabel& label : config::label_table()) names.emplace_back(label.name);
  const auto near = nearest(name, names);
  return {"explain.unknown",
          fmt::format("a rule, a knob or a label must be named: {}", config::in_quotes(name)),
          near ? fmt::format("did you mean {}?", *near) : "see refrain rules and refrain knobs"};
}

}  // namespace

int explain_command(const std::vector<std::string>& arguments) {
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
  for (const Rule* rule : config::all_rules()) {
    if (rule->id == name) text += explained(*rule);
  }
  if (const Knob* knob = config::find_knob(name)) text += explained(*knob);
  text += explained_label(name);
  if (text.empty()) return tell({unknown(name)}), kExitFindings;
  return print(text), kExitOk;
}

}  // namespace refrain::cli
