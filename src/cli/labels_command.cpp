// `refrain labels`: what each label of `selective` frees and repeats, read off the Programs it
// becomes, so that docs/labels.md cannot differ from what is carried out.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/text_table.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/spine.h"
#include "plan/prepare.h"

namespace refrain::cli {
namespace {

using config::AttentionBackend;
using config::RecomputeSetting;
using config::ReplayPolicy;

constexpr CommandText kLabels = {"refrain labels",
                                 "Prints what each recompute label frees and repeats.",
                                 "  refrain labels\n"
                                 "  refrain labels --markdown > docs/labels.md\n"};

struct Example {
  std::string_view model;
  AttentionBackend attention;
};
constexpr Example kExamples[] = {{"llama-15m", AttentionBackend::kFused},
                                 {"llama-15m", AttentionBackend::kUnfused},
                                 {"gpt2-124m", AttentionBackend::kFused},
                                 {"gpt2-124m", AttentionBackend::kUnfused}};
constexpr double kDropout = 0.1;  // so that masks, where any are kept, show

/// What one inner layer keeps for its backward, and what it repeats.
struct LayerFacts {
  std::vector<std::string> saved;  // tensors, in forward order
  Bytes saved_bytes;
  std::vector<std::string> replayed;  // ops, in the order of their replay
};

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

LayerFacts facts_of(const Example& example, const RecomputeSetting& setting, ReplayPolicy policy) {
  config::RunShape shape;
  shape.attention = example.attention;
  shape.dropout = kDropout;
  const plan::PreparedStep step = plan::prepare(
      config::find_model(std::string(example.model)).value.value(), shape, setting, policy);
  constexpr int32_t kBlock = 2;  // the embedding is block 0; the second layer is an inner one
  const model::LayerGraph& layer = step.graph.graph(kBlock);
  LayerFacts facts;
  for (const program::Value& value : step.program.values) {
    if (value.block != kBlock || value.account != program::Account::kSavedActivations) continue;
    add_once(facts.saved, layer.tensors[value.tensor].name);
    facts.saved_bytes += value.bytes();
  }
  for (const program::Step& replay : step.program.steps) {
    if (replay.kind != program::StepKind::kReplay || replay.op.block != kBlock) continue;
    add_once(facts.replayed, layer.ops[replay.op.op].name);
  }
  return facts;
}

/// One setting against none, under both policies.
struct LabelFacts {
  double freed_percent = 0;  // of the bytes a layer keeps
  std::vector<std::string> freed, by_demand, by_region;
};

LabelFacts compare(const Example& example, const RecomputeSetting& setting) {
  const LayerFacts none = facts_of(example, {}, ReplayPolicy::kDemand);
  const LayerFacts demand = facts_of(example, setting, ReplayPolicy::kDemand);
  LabelFacts facts;
  for (const std::string& name : none.saved) {
    if (std::find(demand.saved.begin(), demand.saved.end(), name) == demand.saved.end()) {
      facts.freed.push_back(name);
    }
  }
  facts.freed_percent = 100.0 *
                        static_cast<double>((none.saved_bytes - demand.saved_bytes).count()) /
                        static_cast<double>(none.saved_bytes.count());
  facts.by_demand = demand.replayed;
  facts.by_region = facts_of(example, setting, ReplayPolicy::kRegion).replayed;
  return facts;
}

struct SettingRow {
  std::string name;
  RecomputeSetting setting;
};

std::vector<SettingRow> setting_rows() {
  std::vector<SettingRow> rows;
  for (const config::LabelRow& label : config::label_rows()) {
    RecomputeSetting setting;
    setting.granularity = config::Granularity::kSelective;
    setting.labels = {label.label};
    rows.push_back({std::string(label.name), setting});
  }
  RecomputeSetting full;
  full.granularity = config::Granularity::kFull;
  rows.push_back({to_text(full), full});
  return rows;
}

std::string title(const Example& example) {
  return fmt::format("{}, {} attention", example.model, to_text(example.attention));
}

std::string share(const LabelFacts& facts) { return fmt::format("{:.1f} %", facts.freed_percent); }

std::string text_of_labels() {
  TextTable meanings({{"label"}, {"meaning"}});
  for (const config::LabelRow& row : config::label_rows()) {
    meanings.add_row({std::string(row.name), std::string(row.meaning)});
  }
  std::vector<Column> columns = {{"frees of a layer's activations"}};
  for (const Example& example : kExamples) columns.push_back({title(example), Align::kRight});
  TextTable shares(columns);
  for (const SettingRow& row : setting_rows()) {
    std::vector<std::string> cells = {row.name};
    for (const Example& example : kExamples) cells.push_back(share(compare(example, row.setting)));
    shares.add_row(cells);
  }
  return meanings.to_text() + "\n" + shares.to_text();
}

std::string code_list(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back("`" + name + "`");
  return quoted.empty() ? "nothing" : config::joined(quoted);
}

std::string markdown_of_labels() {
  std::string text =
      "<!-- Written by `refrain labels --markdown` (make docs): do not edit. -->\n"
      "# What each label frees and repeats\n\n"
      "`--recompute selective:label,label`. The tables show one inner layer, dropout on: tensors "
      "that backward\nreads but that are no longer kept, their share of the layer's activations, "
      "and the ops that are run\nagain under each replay policy.\n\n"
      "| label | meaning |\n|---|---|\n";
  for (const config::LabelRow& row : config::label_rows()) {
    text += fmt::format("| `{}` | {} |\n", row.name, row.meaning);
  }
  for (const Example& example : kExamples) {
    text += fmt::format(
        "\n## {}\n\n| setting | frees | no longer kept | repeated, `demand` | repeated, `region` "
        "|\n"
        "|---|---:|---|---|---|\n",
        title(example));
    for (const SettingRow& row : setting_rows()) {
      const LabelFacts facts = compare(example, row.setting);
      text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, share(facts),
                          code_list(facts.freed), code_list(facts.by_demand),
                          code_list(facts.by_region));
    }
  }
  return text;
}

}  // namespace

int labels_command(const std::vector<std::string>& arguments) {
  bool markdown = false;
  CommandLine line(kLabels);
  line.add_switch({"--markdown", "", "the page docs/labels.md on stdout"}, markdown);
  const Reading reading = line.read(arguments);
  if (reading.help) return print(*reading.help), kExitOk;
  if (rejects(reading.findings)) return tell(reading.findings), kExitFindings;
  print(markdown ? markdown_of_labels() : text_of_labels());
  return kExitOk;
}

}  // namespace refrain::cli
