#include "cli/check/view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text_table.h"
#include "config/scan.h"
#include "config/word.h"

namespace refrain::cli {
namespace {

using config::Assignment;
using config::CheckFinding;
using config::CheckReport;
using config::Knob;
using config::LayerSpan;
using config::ResolvedChunk;
using config::Value;
using nlohmann::ordered_json;

std::string from(const config::Source& source) {
  if (source.origin == config::Origin::kDefault) return "default";
  if (source.place.empty()) return std::string(to_text(source.origin));
  return fmt::format("{} {}", to_text(source.origin), source.place);
}

std::string layers_text(LayerSpan span) {
  return span.first == span.last ? fmt::format("{}", span.first)
                                 : fmt::format("{}-{}", span.first, span.last);
}

std::string spans_text(const std::vector<LayerSpan>& spans) {
  constexpr size_t kMost = 12;
  std::vector<std::string> texts;
  for (const LayerSpan& span : spans) {
    if (texts.size() == kMost) {
      texts.push_back(fmt::format("... {} in all", spans.size()));
      break;
    }
    texts.push_back(layers_text(span));
  }
  return config::joined(texts);
}

std::string finding_text(const CheckFinding& finding) {
  std::string text =
      fmt::format("{}[{}]: {}{}\n", finding.severity, finding.id, finding.message,
                  finding.error_type.empty() ? "" : fmt::format(" ({})", finding.error_type));
  if (!finding.because.empty()) text += fmt::format("  because: {}\n", finding.because);
  for (const config::ShownKnob& knob : finding.knobs) {
    if (knob.source.origin == config::Origin::kDefault) continue;
    text += fmt::format("  {} = {}, from {}\n", knob.name, written(knob.value), from(knob.source));
  }
  if (!finding.remedy.empty()) text += fmt::format("  remedy: {}\n", finding.remedy);
  for (const config::CheckedRemedy& remedy : finding.remedies) {
    std::vector<std::string> sets;
    for (const Assignment& set : remedy.set) {
      sets.push_back(fmt::format("{}={}", set.knob, written(set.value)));
    }
    text += fmt::format("  accepted with: {}\n", config::joined(sets, " "));
  }
  return text;
}

std::string labels_text(const config::SelectiveSpan& span) {
  std::vector<std::string> active, idle;
  for (const config::LabelEffect& effect : span.labels) {
    if (effect.inactive_because) {
      idle.push_back(fmt::format("{} ({})", effect.label, *effect.inactive_because));
    } else {
      active.push_back(effect.label);
    }
  }
  std::string text =
      active.empty() ? "nothing recomputed" : "recomputed: " + config::joined(active);
  if (!idle.empty()) text += "; inactive: " + config::joined(idle);
  return text;
}

/// What happens to a chunk's layers, one line a fate.
std::vector<std::string> fates(const ResolvedChunk& chunk) {
  std::vector<std::string> lines;
  if (!chunk.groups.empty()) {
    lines.push_back(fmt::format("recomputed in full, by groups: {}", spans_text(chunk.groups)));
  }
  for (const LayerSpan& span : chunk.saved) {
    lines.push_back(fmt::format("layers {}: everything saved", layers_text(span)));
  }
  for (const config::SelectiveSpan& span : chunk.selective) {
    lines.push_back(fmt::format("layers {} ({}): {}", layers_text(span.layers), to_text(span.kind),
                                labels_text(span)));
  }
  if (lines.empty()) lines.emplace_back("no decoder layer");
  return lines;
}

std::string resolved_text(const config::Resolved& resolved) {
  std::string text = "Layers (from 0), by pipeline rank and virtual chunk:\n";
  for (const ResolvedChunk& chunk : resolved.chunks) {
    const std::vector<std::string> lines = fates(chunk);
    const std::string where = fmt::format("rank {} chunk {}", chunk.where.rank, chunk.where.chunk);
    for (size_t i = 0; i < lines.size(); ++i) {
      text += fmt::format("  {:<18} {}\n", i == 0 ? where : "", lines[i]);
    }
  }
  return text;
}

/// Knobs that somebody set or a rule changed.
std::string effective_text(const CheckReport& report) {
  TextTable table({{"knob"}, {"given"}, {"effective"}, {"from"}});
  for (const Knob& knob : config::knob_table()) {
    if (!knob.dialects.has(report.dialect)) continue;
    const Value given = value_of(report.given->knobs, knob);
    const Value effective =
        value_of(report.accepted ? report.effective : report.given->knobs, knob);
    const auto source = report.given->sources.find(knob.name);
    if (source == report.given->sources.end() && given == effective) continue;
    table.add_row({std::string(knob.name), written(given), written(effective),
                   source == report.given->sources.end() ? "default" : from(source->second)});
  }
  return table.to_text();
}

ordered_json json_of(const CheckFinding& finding) {
  ordered_json knobs = ordered_json::object(), remedies = ordered_json::array();
  for (const config::ShownKnob& knob : finding.knobs) knobs[std::string(knob.name)] = knob.value;
  for (const config::CheckedRemedy& remedy : finding.remedies) {
    ordered_json set = ordered_json::object();
    for (const Assignment& one : remedy.set) set[one.knob] = one.value;
    remedies.push_back({{"text", remedy.text}, {"set", std::move(set)}, {"verified", true}});
  }
  return {{"id", finding.id},
          {"severity", finding.severity},
          {"message", finding.message},
          {"because", finding.because},
          {"remedy", finding.remedy},
          {"knobs", std::move(knobs)},
          {"remedies", std::move(remedies)},
          {"error_type", finding.error_type.empty() ? Value() : Value(finding.error_type)}};
}

ordered_json json_of(LayerSpan span) { return ordered_json::array({span.first, span.last}); }

ordered_json json_of(const ResolvedChunk& chunk) {
  ordered_json groups = ordered_json::array(), saved = ordered_json::array(),
               selective = ordered_json::array();
  for (const LayerSpan& span : chunk.groups) groups.push_back(json_of(span));
  for (const LayerSpan& span : chunk.saved) saved.push_back(json_of(span));
  for (const config::SelectiveSpan& span : chunk.selective) {
    ordered_json labels = ordered_json::array();
    for (const config::LabelEffect& effect : span.labels) {
      labels.push_back(
          {{"label", effect.label},
           {"active", !effect.inactive_because},
           {"because", effect.inactive_because ? Value(*effect.inactive_because) : Value()}});
    }
    selective.push_back({{"layers", json_of(span.layers)},
                         {"kind", to_text(span.kind)},
                         {"labels", std::move(labels)}});
  }
  return {{"rank", chunk.where.rank},
          {"chunk", chunk.where.chunk},
          {"first_layer", chunk.where.first_layer},
          {"layers", chunk.where.layers},
          {"recomputed_groups", std::move(groups)},
          {"saved", std::move(saved)},
          {"selective", std::move(selective)}};
}

ordered_json effective_json(const CheckReport& report) {
  ordered_json shown = ordered_json::object();
  for (const Knob& knob : config::knob_table()) {
    if (knob.dialects.has(report.dialect)) {
      shown[std::string(knob.name)] = value_of(report.effective, knob);
    }
  }
  return shown;
}

ordered_json sources_json(const CheckReport& report) {
  ordered_json shown = ordered_json::object();
  if (!report.given) return shown;
  for (const auto& [name, source] : report.given->sources) shown[std::string(name)] = from(source);
  return shown;
}

}  // namespace

std::string written(const Value& value) {
  return value.dump(-1, ' ', false, Value::error_handler_t::replace);
}

std::string legal_of(const Knob& knob) {
  return std::string(knob.legal.empty() ? type_name(knob) : knob.legal);
}

std::string default_of(const Knob& knob) { return written(value_of(config::Knobs{}, knob)); }

std::string text_of(const CheckReport& report, bool effective) {
  std::string text =
      fmt::format("{}: {}\n", to_text(report.dialect), report.accepted ? "accepted" : "rejected");
  for (const CheckFinding& finding : report.findings) text += finding_text(finding);
  if (report.resolved) text += resolved_text(*report.resolved);
  if (effective && report.given) text += effective_text(report);
  return config::for_terminal(text);
}

std::string json_of(const CheckReport& report) {
  ordered_json findings = ordered_json::array(), resolved;
  for (const CheckFinding& finding : report.findings) findings.push_back(json_of(finding));
  if (report.resolved) {
    resolved = {{"chunks", ordered_json::array()}};
    for (const ResolvedChunk& chunk : report.resolved->chunks) {
      resolved["chunks"].push_back(json_of(chunk));
    }
  }
  const ordered_json answer = {
      {"dialect", to_text(report.dialect)},
      {"verdict", report.accepted ? "accept" : "reject"},
      {"findings", std::move(findings)},
      {"effective", report.accepted ? effective_json(report) : ordered_json()},
      {"sources", sources_json(report)},
      {"resolved", std::move(resolved)}};
  return answer.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace refrain::cli
