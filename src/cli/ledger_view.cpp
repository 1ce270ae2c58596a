#include "cli/ledger_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text_table.h"
#include "config/word.h"

namespace refrain::cli {
namespace {

using nlohmann::ordered_json;

/// Parameters, tables and optimizer state: what recompute cannot free.
Bytes static_bytes(const LedgerView& view) { return ledger::total(view.step.timeline.residents); }

std::string step_name(const LedgerView& view, size_t step) {
  return program::describe(view.step.graph, view.step.program, view.step.program.steps[step]);
}

double percent(Bytes part, Bytes whole) {
  if (whole == Bytes()) return 0;
  return 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

std::vector<ledger::AccountNode> peak_accounts(const LedgerView& view) {
  return ledger::account_tree(view.step.graph, view.step.program, view.step.timeline.peak_step);
}

std::vector<std::pair<std::string, Bytes>> largest_first(const ledger::AccountNode& node) {
  std::vector<std::pair<std::string, Bytes>> parts(node.parts.begin(), node.parts.end());
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return parts;
}

std::string account_table(const LedgerView& view) {
  const Bytes peak = view.step.timeline.peak;
  TextTable table(
      {{"account"}, {"bytes", Align::kRight}, {"", Align::kRight}, {"share", Align::kRight}});
  const auto add = [&](const std::string& name, Bytes bytes) {
    table.add_row({name, fmt::format("{}", bytes.count()), to_text(bytes),
                   fmt::format("{:.1f} %", percent(bytes, peak))});
  };
  for (const ledger::AccountNode& node : peak_accounts(view)) {
    if (node.bytes == Bytes()) continue;
    add(std::string(program::to_text(node.account)), node.bytes);
    for (const auto& [name, bytes] : largest_first(node)) add("  " + name, bytes);
  }
  add("total", peak);
  return table.to_text();
}

std::string headline(const LedgerView& view) {
  const config::ModelConfig& model = view.options.model;
  const config::RunShape& shape = view.options.shape;
  return fmt::format(
      "{}: {} layers, hidden {}, {} parameters\n"
      "{} sequences of {} tokens, {} micro-batch{} a step, {}, {} attention, dropout {}\n"
      "recompute {}, replay {}\n",
      config::as_word(model.name), model.num_layers, model.hidden,
      model::num_trained(view.step.program.params), shape.micro_batch, shape.seq,
      shape.num_micro_batches, shape.num_micro_batches == 1 ? "" : "es", to_text(shape.precision),
      to_text(shape.attention), shape.dropout, to_text(view.options.recompute),
      to_text(view.options.replay));
}

std::string gain(const LedgerView& view) {
  const Bytes with = view.step.timeline.peak;
  const Bytes without = view.peak_without;
  if (view.options.recompute.granularity == config::Granularity::kNone) return "";
  if (with == without) return fmt::format("no recompute has the same peak: {}\n", to_text(without));
  const bool saves = with < without;
  const Bytes difference = saves ? without - with : with - without;
  return fmt::format("without recompute {}: this setting {} {} ({:.1f} %)\n", to_text(without),
                     saves ? "saves" : "adds", to_text(difference), percent(difference, without));
}

ordered_json accounts_json(const LedgerView& view) {
  ordered_json accounts = ordered_json::object();
  for (const ledger::AccountNode& node : peak_accounts(view)) {
    ordered_json parts = ordered_json::object();
    for (const auto& [name, bytes] : node.parts) parts[name] = bytes.count();
    accounts[std::string(program::to_text(node.account))] = {{"bytes", node.bytes.count()},
                                                             {"parts", std::move(parts)}};
  }
  return accounts;
}

ordered_json settings_json(const config::LedgerOptions& options) {
  const config::RunShape& shape = options.shape;
  return {{"model", options.model.name},
          {"seq", shape.seq},
          {"micro_batch", shape.micro_batch},
          {"global_batch", shape.micro_batch * shape.num_micro_batches},
          {"recompute", to_text(options.recompute)},
          {"replay", to_text(options.replay)},
          {"attention", to_text(shape.attention)},
          {"dtype", to_text(shape.precision)},
          {"dropout", shape.dropout},
          {"clip_grad", shape.clip_grad},
          {"threads", shape.threads}};
}

ordered_json timeline_json(const LedgerView& view) {
  ordered_json steps = ordered_json::array();
  for (size_t i = 0; i < view.step.timeline.entries.size(); ++i) {
    const ledger::Entry& entry = view.step.timeline.entries[i];
    steps.push_back({{"step", i},
                     {"name", step_name(view, i)},
                     {"during_bytes", ledger::total(entry.during).count()},
                     {"after_bytes", ledger::total(entry.after).count()}});
  }
  return steps;
}

ordered_json findings_json(const Findings& findings) {
  ordered_json list = ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"rule", finding.rule},
                    {"severity", finding.severity == Severity::kError ? "error" : "note"},
                    {"message", finding.message},
                    {"remedy", finding.remedy}});
  }
  return list;
}

}  // namespace

std::string to_text(const LedgerView& view) {
  const size_t step = view.step.timeline.peak_step;
  return fmt::format(
      "{}\npeak {} ({} bytes) in step {} of {}: {}\n\n{}\nstatic state (nothing frees it): {}\n{}",
      headline(view), to_text(view.step.timeline.peak), view.step.timeline.peak.count(), step,
      view.step.program.steps.size(), step_name(view, step), account_table(view),
      to_text(static_bytes(view)), gain(view));
}

std::string to_json(const LedgerView& view) {
  const ordered_json object = {
      {"peak_bytes", view.step.timeline.peak.count()},
      {"peak_step", view.step.timeline.peak_step},
      {"peak_step_name", step_name(view, view.step.timeline.peak_step)},
      {"static_bytes", static_bytes(view).count()},
      {"peak_bytes_without_recompute", view.peak_without.count()},
      {"accounts", accounts_json(view)},
      {"settings", settings_json(view.options)},
      {"timeline", timeline_json(view)},
      {"findings", findings_json(view.notes)},
  };
  // A model's path need not be UTF-8; JSON must be.
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string to_csv(const LedgerView& view) {
  std::string text = "step,name,during_bytes,after_bytes";
  for (int account = 0; account < program::kNumAccounts; ++account) {
    text += fmt::format(",\"{}\"", program::to_text(static_cast<program::Account>(account)));
  }
  text += '\n';
  for (size_t i = 0; i < view.step.timeline.entries.size(); ++i) {
    const ledger::Entry& entry = view.step.timeline.entries[i];
    text += fmt::format("{},\"{}\",{},{}", i, step_name(view, i),
                        ledger::total(entry.during).count(), ledger::total(entry.after).count());
    for (const Bytes bytes : entry.during) text += fmt::format(",{}", bytes.count());
    text += '\n';
  }
  return text;
}

}  // namespace refrain::cli
