// Sources: Megatron-Bridge's ConfigContainer (training/config.py) and apply_overrides
// (training/utils/omegaconf_utils.py).
#include "config/inputs/overrides/bridge_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "config/inputs/overrides/precision.h"
#include "config/inputs/overrides/provider_fields.h"
#include "config/knobs/knob_table.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

/// Parts of the configuration.
constexpr std::string_view kRoots[] = {"checkpoint",
                                       "comm_overlap",
                                       "dataset",
                                       "ddp",
                                       "dist",
                                       "env_vars",
                                       "ft",
                                       "inprocess_restart",
                                       "logger",
                                       "mixed_precision",
                                       "model",
                                       "nvrx_straggler",
                                       "optimizer",
                                       "optimizer_config_override_provider",
                                       "peft",
                                       "profiling",
                                       "rerun_state_machine",
                                       "rng",
                                       "scheduler",
                                       "straggler",
                                       "tensor_inspect",
                                       "tokenizer",
                                       "train",
                                       "validation"};

/// Knobs that stand outside the model.
struct PlainName {
  std::string_view path, knob;
};
constexpr PlainName kPlainNames[] = {
    {"train.micro_batch_size", "micro_batch_size"},
    {"train.global_batch_size", "global_batch_size"},
    {"comm_overlap.overlap_moe_expert_parallel_comm", "overlap_moe_expert_parallel_comm"},
    {"comm_overlap.delay_wgrad_compute", "delay_wgrad_compute"},
    {"dataset.sequence_length", "seq_length"},
    {"dataset.seq_length", "seq_length"},
    // Mixed precision overwrites the model's fields of the same name.
    {"mixed_precision.bf16", "bf16"},
    {"mixed_precision.fp16", "fp16"},
    {"mixed_precision.pipeline_dtype", "pipeline_dtype"},
    {"mixed_precision.fp8", "fp8"},
    {"mixed_precision.fp8_recipe", "fp8_recipe"},
    {"mixed_precision.fp8_param", "fp8_param"},
    {"mixed_precision.fp8_param_gather", "fp8_param"},
    {"mixed_precision.fp4", "fp4"},
    {"mixed_precision.fp4_recipe", "fp4_recipe"},
    {"mixed_precision.first_last_layers_bf16", "first_last_layers_bf16"},
    {"mixed_precision.num_layers_at_start_in_bf16", "num_layers_at_start_in_bf16"},
    {"mixed_precision.num_layers_at_end_in_bf16", "num_layers_at_end_in_bf16"},
};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// A layout of lists, [[embedding, decoder], [decoder, loss]], as text, "Et|tL"; nothing where it
/// is no such list. Source: Megatron-Core's PipelineParallelLayerLayout and LayerType.
std::optional<std::string> layout_text(const Value& stages) {
  constexpr std::pair<std::string_view, char> kLetters[] = {
      {"embedding", 'E'}, {"decoder", 't'}, {"mtp", 'm'}, {"loss", 'L'}};
  if (stages.empty()) return {};
  std::string text;
  for (const Value& stage : stages) {
    if (!stage.is_array()) return {};
    if (&stage != &stages.front()) text += '|';
    for (const Value& layer : stage) {
      const auto* letter = std::find_if(std::begin(kLetters), std::end(kLetters),
                                        [&](const auto& each) { return layer == each.first; });
      if (letter == std::end(kLetters)) return {};
      text += letter->second;
    }
  }
  return text;
}

}  // namespace

std::string knob_name(std::string_view path) {
  if (path.starts_with("cfg.")) path.remove_prefix(4);
  if (path.starts_with("model.")) {
    std::string_view field = path.substr(6);
    if (is_provider_field(field)) return std::string(path);
    if (field.starts_with("config.")) field.remove_prefix(7);  // NeMo's
    return std::string(field);
  }
  for (const PlainName& name : kPlainNames) {
    if (path == name.path) return std::string(name.knob);
  }
  if (is_one_of(path, kRoots)) return fmt::format("cfg.{}", path);
  if (is_gpt_field(path)) return fmt::format("model.{}", path);
  return std::string(path);
}

bool is_knob_path(std::string_view path) {
  bool part_is_empty = true;
  for (const char c : path) {
    if (c == '.' || c == '-' ? part_is_empty : !is_name_character(c)) return false;
    part_is_empty = c == '.';
  }
  return !part_is_empty;
}

std::optional<std::string_view> unknown_part(std::string_view path) {
  if (path.starts_with("cfg.")) path.remove_prefix(4);
  const size_t dot = path.find('.');
  const std::string_view part = path.substr(0, dot);
  if (dot == std::string_view::npos || is_one_of(part, kRoots)) return {};
  return part;
}

std::optional<std::string> nearest_part(std::string_view part) {
  return nearest(part, {std::begin(kRoots), std::end(kRoots)});
}

Checked<Assignments> assignments_at(std::string_view path, Value value, const Source& source,
                                    const Reading& reading) {
  const std::string knob = knob_name(path);
  if (knob == "cfg.mixed_precision" && value.is_string()) {
    return precision_assignments(value.get<std::string>(), source, reading);
  }
  if (knob == "pipeline_model_parallel_layout" && value.is_array()) {
    if (auto text = layout_text(value)) value = *std::move(text);
  }
  return Checked<Assignments>::accept({{knob, std::move(value), source}});
}

std::optional<Finding> dropped_addition(const std::string& knob, const Reading& reading) {
  if (find_knob(knob) != nullptr || bystander_dialects(knob) != DialectSet()) return {};
  std::vector<std::string> names;
  for (const Knob& known : knob_table()) names.emplace_back(known.name);
  const auto near = nearest(knob, names);
  return Finding{fmt::format("{}.added-and-dropped", reading.family),
                 fmt::format("a knob must be one that `refrain knobs` lists: {} is added and then "
                             "dropped by Megatron-Bridge",
                             in_quotes(knob)),
                 near ? fmt::format("did you mean {}?", *near) : "leave it out", Severity::kNote};
}

}  // namespace refrain::config
