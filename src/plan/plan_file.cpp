#include "plan/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text_file.h"
#include "config/fields.h"
#include "config/json_fields.h"
#include "config/scan.h"
#include "config/word.h"
#include "model/dense.h"
#include "plan/run_fields.h"

namespace refrain::plan {
namespace {

using nlohmann::json;
using program::Action;

constexpr int kFormat = 1;
constexpr size_t kMostBytes = size_t{16} << 20;  // 30,000 groups of layers, all different
constexpr size_t kMostFindings = 100;
constexpr size_t kMostUnknownFields = 10;

std::string shown_member(const json& object, const char* name) {
  return object.contains(name) ? config::shown(object[name]) : "absent";
}

constexpr std::string_view kAgain = "make the plan again for this run: refrain plan --save FILE";

/// Why a document is no plan of this version.
Findings not_a_plan(const json& document) {
  const auto complain = [](std::string_view rule, std::string message) {
    return Findings{{fmt::format("plan.{}", rule), std::move(message), std::string(kAgain)}};
  };
  if (!document.is_object()) return complain("unreadable", "a plan file holds a JSON object");
  if (document.contains("refrain_plan") && document["refrain_plan"] == kFormat) return {};
  return complain("other-format",
                  fmt::format("refrain_plan must be {}, the format of this version: {}", kFormat,
                              shown_member(document, "refrain_plan")));
}

/// A plan file that is being read: complaints are collected, reading goes on. Values of unknown
/// depth are neither copied nor written out, which nlohmann_json does by recursion.
class Reader {
 public:
  Reader(const config::ModelConfig& model, const config::RunShape& shape)
      : model_(model), shape_(shape), graph_(model::build_dense(model, shape)) {
    plan_.actions = program::save_all(graph_);
  }

  Checked<program::RecomputePlan> read(std::string_view text) {
    const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
    findings_ = not_a_plan(document);
    if (findings_.empty()) {
      compare(document, "model", config::without_name(config::fields_of(model_)));
      compare(document, "shape", config::fields_of(shape_));
      if (findings_.empty()) read_layers(document);
    }
    if (rejects(findings_)) return Checked<program::RecomputePlan>::reject(std::move(findings_));
    return Checked<program::RecomputePlan>::accept(std::move(plan_));
  }

 private:
  void complain(const std::string& rule, std::string message) {
    findings_.push_back({"plan." + rule, std::move(message), std::string(kAgain)});
  }

  void compare(const json& document, const std::string& name, const config::Fields& asked) {
    config::Fields saved;
    size_t num_unknown = 0;
    if (document.contains(name) && document[name].is_object()) {
      for (const auto& [field, value] : document[name].items()) {
        if (!asked.contains(field) && ++num_unknown > kMostUnknownFields) continue;
        saved[config::as_word(field)] = value.is_string()
                                            ? config::as_word(value.get_ref<const std::string&>())
                                            : config::shown(value);
      }
    }
    saved = config::without_name(std::move(saved));
    const std::string lines = config::differences(saved, asked, "in the plan");
    if (!lines.empty())
      complain("other-" + name, "a plan serves the run it was made for; " + lines);
  }

  void read_layers(const json& document) {
    const auto layers = document.find("layers");
    if (layers == document.end() || !layers->is_array()) {
      return complain("layers", "layers must be a list of layer groups");
    }
    std::vector<bool> named(model_.num_layers);
    for (const json& group : *layers) {
      read_group(group, named);
      if (findings_.size() >= kMostFindings) return;
    }
    // One will do: a wrong range leaves out many.
    const auto unnamed = std::ranges::find(named, false);
    if (unnamed != named.end()) complain_of_layer(unnamed - named.begin(), 0);
  }

  void complain_of_layer(int64_t layer, int num_times) {
    complain("layers", fmt::format("each layer must be named once: layer {} is named {} times",
                                   layer, num_times));
  }

  void read_group(const json& group, std::vector<bool>& named) {
    const auto whole = [&](const char* name) -> int64_t {
      if (!group.is_object() || !group.contains(name) || !group[name].is_number_integer())
        return -1;
      return group[name].get<int64_t>();
    };
    const int64_t first = whole("first"), last = whole("last"), run = whole("run");
    if (first < 0 || last < first || last >= model_.num_layers || run < 1 ||
        (last - first + 1) % run != 0) {
      return complain_of_group(group);
    }
    const auto begin = named.begin() + first, end = named.begin() + last + 1;
    if (const auto twice = std::find(begin, end, true); twice != end) {
      return complain_of_layer(twice - named.begin(), 2);
    }
    std::fill(begin, end, true);
    if (run > 1) {
      for (int64_t layer = first; layer <= last; ++layer) {
        drop_all(layer, /*keep_output=*/(layer - first + 1) % run == 0);
      }
    } else {
      drop_named(group, first, last);
    }
  }

  void complain_of_group(const json& group) {
    const std::string found =
        group.is_object() ? fmt::format("first {}, last {}, run {}", shown_member(group, "first"),
                                        shown_member(group, "last"), shown_member(group, "run"))
                          : config::shown(group);
    complain("layers", fmt::format("a group must be layers first to last of {}, in whole runs: {}",
                                   model_.num_layers, found));
  }

  static size_t block_of(int64_t layer) { return static_cast<size_t>(layer) + 1; }  // 0: embedding

  void drop_all(int64_t layer, bool keep_output) {
    std::vector<Action>& actions = plan_.actions[block_of(layer)];
    actions.assign(actions.size(), Action::kRecompute);
    if (keep_output) actions[*graph_.graph(block_of(layer)).output] = Action::kSave;
  }

  /// Layers share a graph, so one look at the names serves the whole group.
  void drop_named(const json& group, int64_t first, int64_t last) {
    const auto names = group.find("recompute");
    if (names == group.end() || !names->is_array()) {
      return complain("layers", "recompute must be a list of activations");
    }
    std::set<model::TensorId> dropped;
    for (const json& name : *names) {
      if (findings_.size() >= kMostFindings) return;
      drop(graph_.graph(block_of(first)), name, dropped);
    }
    for (int64_t layer = first; layer <= last; ++layer) {
      for (const model::TensorId t : dropped) {
        plan_.actions[block_of(layer)][t] = Action::kRecompute;
      }
    }
  }

  /// What the op that writes the activation writes goes with it.
  void drop(const model::LayerGraph& layer, const json& name, std::set<model::TensorId>& dropped) {
    const auto* text = name.get_ptr<const std::string*>();
    const auto is_named = [&](model::TensorId t) {
      return t != layer.output && text != nullptr && layer.tensors[t].name == *text;
    };
    for (const model::Op& op : layer.ops) {
      if (std::ranges::none_of(op.writes, is_named)) continue;
      return dropped.insert(op.writes.begin(), op.writes.end());
    }
    const auto near = text != nullptr ? nearest_activation(layer, *text) : std::nullopt;
    complain("unknown-activation",
             fmt::format("a layer of this model has no activation {}{}", config::shown(name),
                         near ? fmt::format("; did you mean {}?", *near) : ""));
  }

  static std::optional<std::string> nearest_activation(const model::LayerGraph& layer,
                                                       const std::string& name) {
    std::vector<std::string> known;
    for (const model::Op& op : layer.ops) {
      for (const model::TensorId t : op.writes) {
        if (t != layer.output) known.push_back(layer.tensors[t].name);
      }
    }
    return nearest(name, known);
  }

  const config::ModelConfig& model_;
  const config::RunShape& shape_;
  model::ModelGraph graph_;
  program::RecomputePlan plan_;
  Findings findings_;
};

/// The texts of an object; one that holds anything else has no fields.
config::Fields fields_in(const json& document, const char* name) {
  config::Fields fields;
  if (!document.contains(name) || !document[name].is_object()) return fields;
  for (const auto& [field, value] : document[name].items()) {
    fields[field] = value.is_string() ? value.get<std::string>() : config::shown(value);
  }
  return fields;
}

/// Layers that read_plan has accepted.
std::vector<LayerDecision> layers_in(const json& document) {
  std::vector<LayerDecision> layers;
  for (const json& group : document["layers"]) {
    LayerDecision layer{.first = group["first"].get<int64_t>(),
                        .last = group["last"].get<int64_t>(),
                        .run = group["run"].get<int32_t>()};
    if (layer.run == 1) layer.recomputed = group["recompute"].get<std::vector<std::string>>();
    layers.push_back(std::move(layer));
  }
  return layers;
}

Finding no_file(const std::string& path, const std::string& reason) {
  return {
      "plan.no-file",
      fmt::format("a plan must be a file that can be read: {} {}", config::in_quotes(path), reason),
      "write one with refrain plan --save FILE"};
}

}  // namespace

std::string write_plan(const Workload& workload, const EnginePlan& plan) {
  nlohmann::ordered_json document = {{"refrain_plan", kFormat},
                                     {"model", config::fields_of(workload.model)},
                                     {"shape", config::fields_of(workload.shape)},
                                     {"peak_bytes", plan.step.timeline.peak.count()},
                                     {"step_s", plan.timing.total_s()},
                                     {"replay_s", plan.timing.replay_s},
                                     {"gap", plan.gap},
                                     {"rates", workload.rates.name},
                                     {"layers", json::array()}};
  for (const LayerDecision& decision : plan.decisions) {
    document["layers"].push_back({{"first", decision.first},
                                  {"last", decision.last},
                                  {"run", decision.run},
                                  {"recompute", decision.recomputed}});
  }
  return document.dump(2) + "\n";
}

Checked<program::RecomputePlan> read_plan(std::string_view text, const config::ModelConfig& model,
                                          const config::RunShape& shape) {
  return Reader(model, shape).read(text);
}

Checked<program::RecomputePlan> read_plan_file(const std::string& path,
                                               const config::ModelConfig& model,
                                               const config::RunShape& shape) {
  const FileText file = read_file(path, kMostBytes);
  if (!file.trouble) return read_plan(file.text, model, shape);
  return Checked<program::RecomputePlan>::reject({no_file(path, file.reason)});
}

Checked<SavedPlan> read_saved_plan(std::string_view text) {
  using Saved = Checked<SavedPlan>;
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  Findings findings = not_a_plan(document);
  if (!findings.empty()) return Saved::reject(std::move(findings));
  auto model = model_of_fields(fields_in(document, "model"));
  auto shape = shape_of_fields(fields_in(document, "shape"));
  findings = std::move(model.findings);
  findings.insert(findings.end(), shape.findings.begin(), shape.findings.end());
  if (findings.empty()) findings = config::validate(*model.value, *shape.value);
  if (rejects(findings)) return Saved::reject(std::move(findings));
  auto recompute = read_plan(text, *model.value, *shape.value);
  if (!recompute.value) return Saved::reject(std::move(recompute.findings));
  SavedPlan saved{.model = *std::move(model.value),
                  .shape = *shape.value,
                  .layers = layers_in(document),
                  .recompute = *std::move(recompute.value)};
  if (const auto rates = document.find("rates"); rates != document.end() && rates->is_string()) {
    saved.rates = rates->get<std::string>();
  }
  if (const auto peak = document.find("peak_bytes");
      peak != document.end() && peak->is_number_integer()) {
    saved.peak = Bytes(peak->get<int64_t>());
  }
  return Saved::accept(std::move(saved));
}

Checked<SavedPlan> read_saved_plan_file(const std::string& path) {
  const FileText file = read_file(path, kMostBytes);
  if (file.trouble) return Checked<SavedPlan>::reject({no_file(path, file.reason)});
  return read_saved_plan(file.text);
}

}  // namespace refrain::plan
