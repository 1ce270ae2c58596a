#include "mcore/memory/not_modelled.h"

#include <fmt/format.h>

#include <algorithm>

namespace refrain::mcore::memory {
namespace {

using Reason = std::optional<std::string>;

Reason without_size(const Run& run) {
  const Parallel& parallel = run.parallel;
  const int64_t sizes[] = {run.model.hidden,       run.model.vocab,         run.batch.micro,
                           run.batch.global,       run.batch.seq,           parallel.tensor,
                           parallel.pipeline,      parallel.virtual_stages, parallel.context,
                           parallel.expert,        parallel.expert_tensor,  parallel.data,
                           run.optimizer.instances};
  if (std::any_of(std::begin(sizes), std::end(sizes), [](int64_t size) { return size < 1; })) {
    return "a size or degree of parallelism is not known";
  }
  return {};
}

/// Layers of all chunks, or nothing where the layout names no chunk for some stage.
std::optional<int64_t> placed_layers(const Run& run) {
  int64_t layers = 0;
  for (int64_t stage = 0; stage < run.parallel.virtual_stages; ++stage) {
    for (int64_t rank = 0; rank < run.parallel.pipeline; ++rank) {
      const auto& layout = run.parallel.layout;
      if (!layout.empty() && (stage >= std::ssize(layout) || rank >= std::ssize(layout[stage]))) {
        return {};
      }
      const int64_t count = stage_layers(run, rank, stage).count;
      if (count < 0) return {};
      layers += count;
    }
  }
  return layers;
}

Reason bad_layout(const Run& run) {
  const auto layers = placed_layers(run);
  if (!layers || *layers != std::ssize(run.model.layers)) {
    return fmt::format("the pipeline's chunks do not hold the model's {} layers",
                       run.model.layers.size());
  }
  // What does not fill the last group must still fill the pipeline
  // (core/pipeline_parallel/schedules.py, forward_backward_pipelining_with_interleaving).
  const int64_t micro_batches = num_micro_batches(run), ranks = run.parallel.pipeline;
  const int64_t group = run.parallel.group_size > 0 ? run.parallel.group_size : ranks;
  const int64_t rest = micro_batches % group;
  if (run.parallel.virtual_stages > 1 && (group < ranks || (rest != 0 && rest < ranks))) {
    return fmt::format("{} micro-batches in groups of {} do not fill an interleaved pipeline of {}",
                       micro_batches, group, ranks);
  }
  return {};
}

Reason bad_experts(const Run& run) {
  const bool has_experts =
      std::any_of(run.model.layers.begin(), run.model.layers.end(),
                  [](const LayerKind& kind) { return kind.feed_forward == FeedForward::kExperts; });
  if (!has_experts) return {};
  const ExpertSize& experts = run.model.experts;
  if (experts.num_experts < run.parallel.expert || experts.ffn < 1 || experts.topk < 1) {
    return fmt::format("{} experts of width {} on {} expert-parallel ranks", experts.num_experts,
                       experts.ffn, run.parallel.expert);
  }
  return {};
}

/// What is known about, and left out.
Reason left_out(const Run& run) {
  if (run.model.family == Family::kT5 && run.parallel.pipeline > 1) {
    return "T5 over several pipeline stages: encoder and decoder stages hold different chunks";
  }
  if (run.optimizer.trains_adapters_only) {
    return "adapters: which weights train, and with what rank, is not among the run's facts";
  }
  if (run.optimizer.name != "adam") {
    return fmt::format("optimizer {}: only Adam's states are modelled", run.optimizer.name);
  }
  if (!run.place.graphs.empty()) {
    return "CUDA graphs: captured tensors live in pools whose size capture decides";
  }
  if (run.place.offloads_activations && run.offload.modules.empty() &&
      run.offload.num_layers == 0) {
    return "activation offload: which modules or layers offload is not among the run's facts";
  }
  return {};
}

}  // namespace

std::optional<std::string> not_modelled(const Run& run) {
  for (const auto rule : {without_size, bad_layout, bad_experts, left_out}) {
    if (Reason reason = rule(run)) return reason;
  }
  return {};
}

}  // namespace refrain::mcore::memory
