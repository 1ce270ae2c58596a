#include "cli/check/batch.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config/check/judge.h"
#include "config/check/raised.h"
#include "config/knobs/configuration.h"
#include "config/scan.h"

namespace refrain::cli {
namespace {

using config::Assignments;
using config::Dialect;
using config::Value;
using nlohmann::ordered_json;

// What a verdict shows of the configuration after construction, in the order of the conformance
// records; fields that a dialect does not have are left out.
constexpr std::string_view kEffective[] = {"recompute_granularity",
                                           "recompute_modules",
                                           "recompute_method",
                                           "recompute_num_layers",
                                           "distribute_saved_activations",
                                           "sequence_parallel",
                                           "cpu_offloading",
                                           "cpu_offloading_num_layers",
                                           "cpu_offloading_activations",
                                           "cpu_offloading_weights",
                                           "fine_grained_activation_offloading",
                                           "offload_modules",
                                           "enable_cuda_graph",
                                           "external_cuda_graph",
                                           "cuda_graph_impl",
                                           "cuda_graph_scope",
                                           "cuda_graph_modules",
                                           "inference_cuda_graph_scope",
                                           "moe_expert_capacity_factor"};

ordered_json invalid(const Value& id, const std::string& what) {
  return {{"id", id}, {"verdict", "invalid"}, {"error_type", nullptr}, {"error", what}};
}

/// The keyword arguments, and what stands beside them.
Assignments assignments_of(const Value& record) {
  Assignments assignments;
  if (record.contains("class") && record["class"] == "MLATransformerConfig") {
    assignments.push_back({"multi_latent_attention", true, {}, false});
  }
  for (const auto& [knob, value] : record.at("kwargs").items()) {
    assignments.push_back({knob, value, {}, false});
  }
  if (record.contains("te_version")) {
    assignments.push_back({"te_version", record["te_version"], {}, false});
  } else if (record.contains("with_te") && record["with_te"] == false) {
    assignments.push_back({"te_version", nullptr, {}, false});
  }
  return assignments;
}

/// Knobs of the configuration as it was given, and as it is in effect.
void show_effective(const config::Knobs& given, const config::Knobs& effective, Dialect dialect,
                    ordered_json& answer) {
  ordered_json shown = ordered_json::object(), changed = ordered_json::array();
  for (const std::string_view name : kEffective) {
    const config::Knob& knob = *config::find_knob(name);
    if (!knob.dialects.has(dialect)) continue;
    const Value value = value_of(effective, knob);
    if (value != value_of(given, knob)) changed.push_back(name);
    shown[std::string(name)] = value;
  }
  answer["effective"] = std::move(shown);
  answer["changed"] = std::move(changed);
}

ordered_json verdict(const Value& id, Dialect dialect, bool accepted) {
  return {{"id", id},
          {"dialect", to_text(dialect)},
          {"verdict", accepted ? "accept" : "reject"},
          {"error_type", nullptr},
          {"error", nullptr},
          {"effective", nullptr},
          {"changed", nullptr},
          {"findings", ordered_json::array()}};
}

ordered_json judged(const Value& id, const config::Knobs& given, Dialect dialect) {
  const config::Judgement judgement = judge(given, dialect);
  ordered_json answer = verdict(id, dialect, judgement.accepted);
  for (const config::Ruling& ruling : judgement.rulings) {
    if (ruling.rule->outcome == config::Outcome::kFill) continue;
    if (is_error(ruling.rule->outcome) && answer["error"].is_null()) {
      answer["error_type"] = to_text(ruling.rule->outcome);
      answer["error"] = ruling.message;
    }
    answer["findings"].push_back(ruling.rule->id);
  }
  if (judgement.accepted) show_effective(given, judgement.effective, dialect, answer);
  return answer;
}

ordered_json judge_record(const Value& record, std::optional<Dialect> dialect) {
  const Value id = record.is_object() && record.contains("id") ? record["id"] : Value();
  if (!record.is_object() || !record.contains("kwargs") || !record["kwargs"].is_object()) {
    return invalid(id, "a line must be a JSON object with an object `kwargs`");
  }
  if (!dialect && record.contains("version")) {
    const std::string version = record["version"].is_string() ? record["version"].get<std::string>()
                                                              : record["version"].dump();
    const auto parsed = config::parse_dialect("mcore-" + version);
    if (!parsed.value) return invalid(id, parsed.findings[0].message);
    dialect = *parsed.value;
  }
  const Dialect judging = dialect.value_or(Dialect::kRefrain);
  const auto configured = configure(assignments_of(record), judging);
  if (configured.value) return judged(id, configured.value->knobs, judging);
  ordered_json answer = verdict(id, judging, false);
  answer["error"] = configured.findings[0].message;
  for (const Finding& finding : configured.findings) {
    answer["findings"].push_back(finding.rule);
    const std::string_view raised = raised_by_knob(finding.rule, config::Origin::kDefault, judging);
    if (raised.empty() || !answer["error_type"].is_null()) continue;
    answer["error_type"] = raised;
    answer["error"] = finding.message;
  }
  return answer;
}

}  // namespace

std::string judge_line(std::string_view line, std::optional<Dialect> dialect) {
  constexpr size_t kLongest = 1 << 20;
  if (line.size() > kLongest) return invalid(nullptr, "a line must be at most 1 MiB").dump();
  const Value record = Value::parse(line, nullptr, /*allow_exceptions=*/false);
  const ordered_json answer = record.is_discarded()
                                  ? invalid(nullptr, "a line must be a JSON object: it is not JSON")
                                  : judge_record(record, dialect);
  return answer.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace refrain::cli
