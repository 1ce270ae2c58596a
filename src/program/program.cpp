#include "program/program.h"

#include <fmt/format.h>

#include <array>

namespace refrain::program {
namespace {

std::string describe_block(const model::ModelGraph& graph, int32_t block) {
  const auto& layer = graph.blocks[block].layer;
  return layer ? fmt::format("layers.{} ", *layer) : "";
}

std::string describe_micro_batch(int32_t micro_batch) {
  return micro_batch < 0 ? "" : fmt::format(", micro-batch {}", micro_batch);
}

}  // namespace

std::string_view to_text(Account account) {
  constexpr std::array<std::string_view, kNumAccounts> kNames = {"parameters",
                                                                 "tables",
                                                                 "optimizer",
                                                                 "gradients",
                                                                 "batch",
                                                                 "saved_activations",
                                                                 "transient_activations",
                                                                 "replayed_activations",
                                                                 "activation_gradients",
                                                                 "loss_head",
                                                                 "scratch"};
  return kNames.at(static_cast<size_t>(account));
}

std::string_view to_text(StepKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {
      "load-batch",       "forward",         "replay", "loss",  "backward",
      "backward-weights", "backward-inputs", "clip",   "update"};
  return kNames.at(static_cast<size_t>(kind));
}

ActionTable save_all(const model::ModelGraph& graph) {
  ActionTable actions;
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    actions.emplace_back(graph.graph(b).tensors.size(), Action::kSave);
  }
  return actions;
}

std::string name_of(const model::ModelGraph& graph, const Program& program, const Value& value) {
  switch (value.kind) {
    case ValueKind::kTokens:
      return "tokens";
    case ValueKind::kTargets:
      return "targets";
    case ValueKind::kActivation:
    case ValueKind::kActivationGradient:
      return graph.graph(value.block).tensors[value.tensor].name;
    default:
      return program.params.specs[value.param].name;
  }
}

std::string describe(const model::ModelGraph& graph, const Program& program, const Value& value) {
  const std::string block = value.block < 0 ? "" : describe_block(graph, value.block);
  return fmt::format("{}{} ({}){}", block, name_of(graph, program, value), to_text(value.account),
                     describe_micro_batch(value.micro_batch));
}

std::string describe(const model::ModelGraph& graph, const Program& program, const Step& step) {
  switch (step.kind) {
    case StepKind::kLoadBatch:
    case StepKind::kClip:
      return fmt::format("{}{}", to_text(step.kind), describe_micro_batch(step.micro_batch));
    case StepKind::kUpdate:
      return fmt::format("update {}", program.params.specs[step.param].name);
    default:
      return fmt::format("{} {}{}{}", to_text(step.kind), describe_block(graph, step.op.block),
                         graph.graph(step.op.block).ops[step.op.op].name,
                         describe_micro_batch(step.micro_batch));
  }
}

}  // namespace refrain::program
