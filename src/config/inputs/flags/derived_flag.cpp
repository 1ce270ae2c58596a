// Sources: Megatron-LM's validate_args (megatron/training/arguments.py), and the performance
// harness of Megatron-Bridge (scripts/performance/utils/overrides.py).
#include "config/inputs/flags/derived_flag.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/knobs/pipeline_layout.h"

namespace refrain::config {
namespace {

constexpr int64_t kMostLayers = 10000;

std::optional<int64_t> whole_of(std::string_view knob, const KnobLookup& knobs) {
  const Value* value = knobs(knob);
  if (value == nullptr || !value->is_number_integer()) return {};
  return value->get<int64_t>();
}

bool is_on(std::string_view knob, const KnobLookup& knobs) {
  const Value* value = knobs(knob);
  return value != nullptr && *value == true;
}

DerivedValues needs(std::string_view flag, std::string_view knob) {
  return {{},
          {{"flag.needs-knob",
            fmt::format("{} must have {} beside it to be judged: it is left out", flag, knob),
            fmt::format("add {}, or set the knob that it stands for", knob), Severity::kNote}}};
}

DerivedValues not_divisible(std::string_view what, int64_t count, int64_t by) {
  return {{},
          {{"flag.not-divisible", fmt::format("{}: {} by {}", what, count, by),
            "correct one of them"}}};
}

/// One virtual stage is none. With several Megatron-LM overlaps what pipeline ranks send.
DerivedValues virtual_stages(int64_t count) {
  constexpr std::string_view kKnob = "virtual_pipeline_model_parallel_size";
  if (count == 1) return {{{kKnob, nullptr}}, {}};
  return {{{kKnob, count}, {"overlap_p2p_comm", true}, {"batch_p2p_comm", false}}, {}};
}

DerivedValues stages_as_told(const Value& own, const KnobLookup&) {
  return virtual_stages(own.get<int64_t>());
}

DerivedValues stages_of_layers(const Value& own, const KnobLookup& knobs) {
  constexpr std::string_view kFlag = "--num-layers-per-virtual-pipeline-stage";
  const auto given = whole_of("num_layers", knobs);
  if (!given) return needs(kFlag, "--num-layers");
  if (*given > kMostLayers) return {};  // a rule says so
  const int64_t ranks = whole_of("pipeline_model_parallel_size", knobs).value_or(1);
  const int64_t layers = *given + is_on("account_for_embedding_in_pipeline_split", knobs) +
                         is_on("account_for_loss_in_pipeline_split", knobs);
  const int64_t a_stage = own.get<int64_t>();
  if (ranks < 1 || layers < 1 || layers % ranks != 0) {
    return not_divisible("layers must be a multiple of the pipeline ranks", layers, ranks);
  }
  if (a_stage < 1 || layers / ranks % a_stage != 0) {
    return not_divisible(
        "layers of a rank must be a multiple of --num-layers-per-virtual-pipeline-stage",
        layers / ranks, a_stage);
  }
  return virtual_stages(layers / ranks / a_stage);
}

DerivedValues stages_of_layout(const Value& own, const KnobLookup& knobs) {
  const auto stages = layout_stages(own.get<std::string>());
  if (!stages) return {};  // a rule says what is wrong with it
  const auto count = static_cast<int64_t>(stages->size());
  const int64_t ranks = whole_of("pipeline_model_parallel_size", knobs).value_or(1);
  if (ranks < 1 || count % ranks != 0) {
    return not_divisible("a layout's stages must be a multiple of the pipeline ranks", count,
                         ranks);
  }
  return virtual_stages(count / ranks);
}

DerivedValues sequence_parallel(const Value&, const KnobLookup& knobs) {
  constexpr std::string_view kKnob = "sequence_parallel";
  // Where nothing here says the size, something before it may.
  if (whole_of("tensor_model_parallel_size", knobs) != 1) return {{{kKnob, true}}, {}};
  return {{{kKnob, false}},
          {{"flag.switched-off",
            "--sequence-parallel must have --tensor-model-parallel-size above 1: Megatron-LM "
            "switches it off",
            "leave it out", Severity::kNote}}};
}

DerivedValues experts_after_dense(const Value& own, const KnobLookup& knobs) {
  constexpr std::string_view kFlag = "--first_k_dense_replace";
  const auto layers = whole_of("num_layers", knobs);
  if (!layers) return needs(kFlag, "--num_layers");
  if (*layers < 1 || *layers > kMostLayers) return {};  // a rule says so
  std::vector<int64_t> flags(static_cast<size_t>(*layers), 1);
  std::fill_n(flags.begin(), std::clamp<int64_t>(own.get<int64_t>(), 0, *layers), 0);
  return {{{"moe_layer_freq", Value(flags)}}, {}};
}

/// The whole step is an implementation of its own; modules mean nothing where nobody captures.
DerivedValues captured_modules(const Value& own, const KnobLookup& knobs) {
  const Value* given = knobs("cuda_graph_impl");
  const Value implementation = given == nullptr ? Value() : *given;
  if (implementation == "none") return {};
  const bool whole_step = std::find(own.begin(), own.end(), "full_iteration") != own.end();
  if (!whole_step) return {{{"cuda_graph_modules", own}}, {}};
  if (own.size() > 1) {
    return {{},
            {{"flag.scope-alone",
              fmt::format("full_iteration must stand alone in --cuda_graph_scope: {}", own.dump()),
              "keep full_iteration, or the modules"}}};
  }
  if (implementation == "transformer_engine") {
    return {{},
            {{"flag.scope-not-with-te",
              "--cuda_graph_scope full_iteration excludes --cuda_graph_impl transformer_engine",
              "write --cuda_graph_impl local, or name modules"}}};
  }
  return {{{"cuda_graph_impl", "full_iteration"}, {"cuda_graph_modules", Value::array()}}, {}};
}

constexpr DerivedFlag kDerived[] = {
    {"--num-layers-per-virtual-pipeline-stage", stages_of_layers},
    {"--num-virtual-stages-per-pipeline-rank", stages_as_told},
    {"--pipeline-model-parallel-layout", stages_of_layout},
    {"--sequence-parallel", sequence_parallel},
    {"--first_k_dense_replace", experts_after_dense},
    {"--cuda_graph_scope", captured_modules, HarnessRevision::kV0_5},
};

}  // namespace

const DerivedFlag* find_derived_flag(std::string_view flag) {
  for (const DerivedFlag& each : kDerived) {
    if (each.flag == flag) return &each;
  }
  return nullptr;
}

}  // namespace refrain::config
