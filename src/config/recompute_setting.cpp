// The two spellings of a recompute setting, ours and Megatron's, read by the same rules.
#include "config/recompute_setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "config/labels/label_table.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr std::string_view kForms =
    "write none, full:uniform:K, full:block:K or selective:label,label";

std::vector<std::string> label_names() {
  std::vector<std::string> names;
  for (const LabelRow& row : label_rows()) names.emplace_back(row.name);
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  if (const auto near = nearest(word, candidates)) return fmt::format("did you mean {}?", *near);
  return fmt::format("use {}", joined(candidates, " | "));
}

Finding unknown_label(const std::string& word) {
  if (const ModuleLabel* foreign = find_label(LabelList::kRecompute, word)) {
    return {"recompute.label-not-there-yet",
            fmt::format("a label must name a part of the model: {} needs {}, which these models do "
                        "not have yet",
                        word, foreign->needs),
            fmt::format("leave it out; dense decoders have {}", joined(label_names()))};
  }
  return {"recompute.unknown-label",
          fmt::format("a label must be one of {}: {}", joined(label_names()), in_quotes(word)),
          did_you_mean(word, label_names())};
}

/// `knob` is what the user wrote the labels in.
Checked<RecomputeSetting> selective(const std::vector<std::string>& words, std::string_view knob) {
  Findings findings;
  RecomputeSetting setting;
  setting.granularity = Granularity::kSelective;
  if (words.empty() || (words.size() == 1 && words[0].empty())) {
    return Checked<RecomputeSetting>::reject(
        {{"recompute.no-labels", fmt::format("{} must name at least one label: none given", knob),
          fmt::format("name some of {}, or use none", joined(label_names()))}});
  }
  for (const std::string& word : words) {
    const auto row = std::find_if(label_rows().begin(), label_rows().end(),
                                  [&](const LabelRow& r) { return r.name == word; });
    if (row == label_rows().end()) {
      findings.push_back(unknown_label(word));
    } else if (std::find(setting.labels.begin(), setting.labels.end(), row->label) !=
               setting.labels.end()) {
      findings.push_back({"recompute.duplicate-label",
                          fmt::format("{} names {} more than once; once is meant", knob, word),
                          "write it once", Severity::kNote});
    } else {
      setting.labels.push_back(row->label);
    }
  }
  std::sort(setting.labels.begin(), setting.labels.end());
  if (rejects(findings)) return Checked<RecomputeSetting>::reject(std::move(findings));
  return Checked<RecomputeSetting>::accept(std::move(setting), std::move(findings));
}

Checked<RecomputeSetting> full(const std::string& method, const std::string& num_layers) {
  Findings findings;
  RecomputeSetting setting;
  setting.granularity = Granularity::kFull;
  if (method == "block") {
    setting.method = FullMethod::kBlock;
  } else if (method != "uniform") {
    findings.push_back({"recompute.unknown-method",
                        fmt::format("the method must be uniform or block: {}", in_quotes(method)),
                        did_you_mean(method, {"uniform", "block"})});
  }
  const auto count = parse_whole(num_layers);
  if (count.value_or(0) < 1) {
    findings.push_back({"recompute.num-layers",
                        fmt::format("the number of layers must be a whole number, 1 or more: {}",
                                    in_quotes(num_layers)),
                        "uniform: layers a group; block: layers recomputed; more than the model "
                        "has means all"});
  }
  if (rejects(findings)) return Checked<RecomputeSetting>::reject(std::move(findings));
  setting.num_layers = *count;
  return Checked<RecomputeSetting>::accept(std::move(setting));
}

Finding left_over(std::string_view knob, const std::string& value, std::string_view because) {
  return {"recompute.left-over",
          fmt::format("every recompute knob must have an effect: {} is {}, but {}", knob,
                      in_quotes(value), because),
          fmt::format("drop {}, or choose the granularity that reads it", knob)};
}

bool is_null(const std::string& text) {
  return text == "null" || text == "None" || text == "none" || text == "~";
}

/// Megatron's None, however it was spelled, is the same as a knob that was not given.
MegatronRecompute without_nulls(MegatronRecompute spelling) {
  for (auto* knob : {&spelling.granularity, &spelling.method, &spelling.num_layers}) {
    if (*knob && is_null(**knob)) knob->reset();
  }
  return spelling;
}

void complain_of_modules(const MegatronRecompute& given, std::string_view because,
                         Findings& findings) {
  if (!given.modules) return;
  findings.push_back(left_over("recompute_modules", joined(*given.modules, ","), because));
}

void complain_of_full_knobs(const MegatronRecompute& given, std::string_view because,
                            Findings& findings) {
  if (given.method) findings.push_back(left_over("recompute_method", *given.method, because));
  if (given.num_layers) {
    findings.push_back(left_over("recompute_num_layers", *given.num_layers, because));
  }
}

Checked<RecomputeSetting> with(Checked<RecomputeSetting> read, Findings more) {
  more.insert(more.begin(), read.findings.begin(), read.findings.end());
  if (rejects(more)) return Checked<RecomputeSetting>::reject(std::move(more));
  return {std::move(read.value), std::move(more)};
}

Checked<RecomputeSetting> megatron_none(const MegatronRecompute& given) {
  Findings findings;
  complain_of_full_knobs(given, "recompute_granularity is not set", findings);
  return with(Checked<RecomputeSetting>::accept({}), std::move(findings));
}

Checked<RecomputeSetting> megatron_selective(const MegatronRecompute& given) {
  Findings findings;
  complain_of_full_knobs(given, "recompute_granularity is selective", findings);
  if (!given.modules) {
    findings.push_back({"recompute.default-modules",
                        "recompute_modules is not set, which means [core_attn]",
                        "name the labels: recompute_modules=[core_attn]", Severity::kNote});
  }
  const std::vector<std::string> modules =
      given.modules.value_or(std::vector<std::string>{std::string(to_text(Label::kCoreAttn))});
  return with(selective(modules, "recompute_modules"), std::move(findings));
}

/// Megatron-Bridge's performance harness sets the granularity with the list (since its v0.3).
Checked<RecomputeSetting> megatron_modules_alone(const MegatronRecompute& given) {
  Findings notes = {{"recompute.selective-implied",
                     "recompute_modules without recompute_granularity means selective",
                     "add recompute_granularity=selective", Severity::kNote}};
  return with(megatron_selective(given), std::move(notes));
}

Checked<RecomputeSetting> megatron_full(const MegatronRecompute& given) {
  Findings findings;
  complain_of_modules(given, "recompute_granularity is full", findings);
  if (!given.method) {
    findings.push_back({"recompute.method-missing", "full needs recompute_method: it is not set",
                        "add recompute_method=uniform or recompute_method=block"});
  }
  if (!given.num_layers) {
    findings.push_back({"recompute.num-layers-missing",
                        "full needs recompute_num_layers, 1 or more: it is not set",
                        "add recompute_num_layers=1"});
  }
  // What was given is still judged, so that all is said at once.
  return with(full(given.method.value_or("uniform"), given.num_layers.value_or("1")),
              std::move(findings));
}

}  // namespace

const std::vector<LabelRow>& label_rows() {
  static const std::vector<LabelRow> rows = [] {
    std::vector<LabelRow> made;
    for (const ModuleLabel& label : label_table()) {
      if (label.list != LabelList::kRecompute || !label.needs.empty()) continue;
      made.push_back({static_cast<Label>(made.size()), label.name, label.meaning});
    }
    return made;
  }();
  return rows;
}

std::string_view to_text(Label label) { return label_rows()[static_cast<size_t>(label)].name; }

std::string_view to_text(ReplayPolicy policy) {
  return policy == ReplayPolicy::kDemand ? "demand" : "region";
}

std::string to_text(const RecomputeSetting& setting) {
  switch (setting.granularity) {
    case Granularity::kNone:
      return "none";
    case Granularity::kFull:
      return fmt::format("full:{}:{}", setting.method == FullMethod::kUniform ? "uniform" : "block",
                         setting.num_layers);
    case Granularity::kSelective:
      break;
  }
  std::vector<std::string> names;
  for (const Label label : setting.labels) names.emplace_back(to_text(label));
  return "selective:" + joined(names, ",");
}

Checked<RecomputeSetting> parse_recompute(std::string_view text) {
  text = trimmed(text);
  const size_t colon = text.find(':');
  const std::string head(trimmed(text.substr(0, colon)));
  const bool has_rest = colon != std::string_view::npos;
  const std::string_view rest = has_rest ? text.substr(colon + 1) : std::string_view();
  if (head == "none" && !has_rest) return Checked<RecomputeSetting>::accept({});
  if (head == "selective") return selective(split(rest, ','), "selective");
  if (head == "full") {
    const std::vector<std::string> parts = split(rest, ':');
    if (parts.size() == 2) return full(parts[0], parts[1]);
    return Checked<RecomputeSetting>::reject(
        {{"recompute.malformed-full",
          fmt::format("full must be full:uniform:K or full:block:K: {}", in_quotes(text)),
          "write full:uniform:1 to recompute every layer from its input"}});
  }
  return Checked<RecomputeSetting>::reject(
      {{"recompute.unknown-setting",
        fmt::format("a setting must be none, full:... or selective:...: {}", in_quotes(text)),
        fmt::format("{}; {}", did_you_mean(head, {"none", "full", "selective"}), kForms)}});
}

Checked<RecomputeSetting> parse_recompute(const MegatronRecompute& spelling) {
  const MegatronRecompute given = without_nulls(spelling);
  if (!given.granularity) {
    return given.modules ? megatron_modules_alone(given) : megatron_none(given);
  }
  if (*given.granularity == "selective") return megatron_selective(given);
  if (*given.granularity == "full") return megatron_full(given);
  return Checked<RecomputeSetting>::reject(
      {{"recompute.unknown-granularity",
        fmt::format("recompute_granularity must be full or selective, or not set: {}",
                    in_quotes(*given.granularity)),
        did_you_mean(*given.granularity, {"full", "selective"})}});
}

}  // namespace refrain::config
