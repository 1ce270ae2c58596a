#include "plan/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/fields.h"
#include "config/scan.h"
#include "model/dense.h"

namespace refrain::plan {
namespace {

using nlohmann::json;
using program::Action;

constexpr int kFormat = 1;
constexpr size_t kMostBytes = size_t{64} << 20;  // a plan of 100,000 layers is smaller

/// A plan file that is being read: complaints are collected, reading goes on.
class Reader {
 public:
  Reader(const config::ModelConfig& model, const config::RunShape& shape)
      : model_(model), shape_(shape), graph_(model::build_dense(model, shape)) {
    plan_.actions = program::save_all(graph_);
  }

  Checked<program::RecomputePlan> read(std::string_view text) {
    const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!document.is_object()) {
      complain("unreadable", "a plan file holds a JSON object");
    } else if (!document.contains("refrain_plan") || document["refrain_plan"] != kFormat) {
      complain("other-format",
               fmt::format("refrain_plan must be {}, the format of this version: {}", kFormat,
                           document.contains("refrain_plan")
                               ? config::in_quotes(document["refrain_plan"].dump())
                               : "absent"));
    } else {
      compare(document, "model", config::without_name(config::fields_of(model_)));
      compare(document, "shape", config::fields_of(shape_));
      if (findings_.empty()) read_layers(document);
    }
    if (rejects(findings_)) return Checked<program::RecomputePlan>::reject(std::move(findings_));
    return Checked<program::RecomputePlan>::accept(std::move(plan_));
  }

 private:
  void complain(const std::string& rule, std::string message) {
    findings_.push_back({"plan." + rule, std::move(message),
                         "make the plan again for this run: refrain plan --save FILE"});
  }

  void compare(const json& document, const std::string& name, const config::Fields& asked) {
    config::Fields saved;
    if (document.contains(name) && document[name].is_object()) {
      for (const auto& [field, value] : document[name].items()) {
        saved[field] = value.is_string() ? value.get<std::string>() : value.dump();
      }
    }
    saved = config::without_name(std::move(saved));
    const std::string lines = config::differences(saved, asked, "in the plan");
    if (!lines.empty()) complain("other-" + name, "a plan serves the run it was made for; " + lines);
  }

  void read_layers(const json& document) {
    std::vector<int> named(model_.num_layers, 0);
    const json layers = document.contains("layers") ? document["layers"] : json();
    if (!layers.is_array()) return complain("layers", "layers must be a list of layer groups");
    for (const json& group : layers) read_group(group, named);
    for (size_t layer = 0; layer < named.size(); ++layer) {
      if (named[layer] == 1) continue;
      complain("layers", fmt::format("each layer must be named once: layer {} is named {} times",
                                     layer, named[layer]));
      return;  // one will do: a wrong range makes many
    }
  }

  void read_group(const json& group, std::vector<int>& named) {
    const auto whole = [&](const char* name) -> int64_t {
      if (!group.is_object() || !group.contains(name) || !group[name].is_number_integer()) return -1;
      return group[name].get<int64_t>();
    };
    const int64_t first = whole("first"), last = whole("last"), run = whole("run");
    if (first < 0 || last < first || last >= model_.num_layers || run < 1 ||
        (last - first + 1) % run != 0) {
      return complain("layers",
                      fmt::format("a group must be layers first to last of {}, in whole runs: {}",
                                  model_.num_layers, config::in_quotes(group.dump())));
    }
    for (int64_t layer = first; layer <= last; ++layer) ++named[layer];
    for (int64_t layer = first; layer <= last; ++layer) {
      const auto block = static_cast<size_t>(layer) + 1;  // the embedding is block 0
      if (run > 1) {
        drop_all(block, /*keep_output=*/(layer - first + 1) % run == 0);
      } else if (const size_t before = findings_.size(); drop_named(block, group),
                 findings_.size() > before) {
        return;  // every further layer of the group would say the same
      }
    }
  }

  void drop_all(size_t block, bool keep_output) {
    std::vector<Action>& actions = plan_.actions[block];
    actions.assign(actions.size(), Action::kRecompute);
    if (keep_output) actions[*graph_.graph(block).output] = Action::kSave;
  }

  void drop_named(size_t block, const json& group) {
    const json names = group.contains("recompute") ? group["recompute"] : json();
    if (!names.is_array()) return complain("layers", "recompute must be a list of activations");
    for (const json& name : names) drop(block, name.is_string() ? name.get<std::string>() : "");
  }

  /// What the op that writes the activation writes goes with it.
  void drop(size_t block, const std::string& name) {
    const model::LayerGraph& layer = graph_.graph(block);
    std::vector<std::string> known;
    for (const model::Op& op : layer.ops) {
      bool writes = false;
      for (const model::TensorId t : op.writes) {
        if (t == layer.output) continue;
        known.push_back(layer.tensors[t].name);
        writes = writes || layer.tensors[t].name == name;
      }
      if (!writes) continue;
      for (const model::TensorId t : op.writes) plan_.actions[block][t] = Action::kRecompute;
      return;
    }
    const auto near = nearest(name, known);
    complain("unknown-activation",
             fmt::format("a layer of this model has no activation {}{}", config::in_quotes(name),
                         near ? fmt::format("; did you mean {}?", *near) : ""));
  }

  const config::ModelConfig& model_;
  const config::RunShape& shape_;
  model::ModelGraph graph_;
  program::RecomputePlan plan_;
  Findings findings_;
};

}  // namespace

std::string write_plan(const Workload& workload, const EnginePlan& plan) {
  nlohmann::ordered_json document = {
      {"refrain_plan", kFormat},
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
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char buffer[1 << 16];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(file.gcount()));
    if (text.size() > kMostBytes) break;
  }
  if (text.empty() || text.size() > kMostBytes) {
    return Checked<program::RecomputePlan>::reject(
        {{"plan.no-file",
          fmt::format("a plan must be a file that can be read, of at most {} bytes: {}", kMostBytes,
                      config::in_quotes(path)),
          "write one with refrain plan --save FILE"}});
  }
  return read_plan(text, model, shape);
}

}  // namespace refrain::plan
