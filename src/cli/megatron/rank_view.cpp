#include "cli/megatron/rank_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace refrain::cli {
namespace {

using nlohmann::ordered_json;

ordered_json tree_json(const std::vector<allocator::PostingNode>& nodes) {
  ordered_json object = ordered_json::object();
  for (const allocator::PostingNode& node : nodes) {
    object[node.name] = {{"bytes", node.blocks.count()}};
    if (!node.parts.empty()) object[node.name]["parts"] = tree_json(node.parts);
  }
  return object;
}

}  // namespace

std::string gib(Bytes bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes.count()) / 0x1p30);
}

std::string headline(const MegatronRunOptions& options) {
  const mcore::Run& run = options.run;
  const mcore::Parallel& p = run.parallel;
  return fmt::format(
      "{}, {} layers, on {} x {}: TP {} PP {} VPP {} CP {} EP {} DP {}\n"
      "{} micro-batch{} of {} x {} tokens a step; budget {} a device\n",
      options.model, run.model.layers.size(), p.num_gpus, options.device.title, p.tensor,
      p.pipeline, p.virtual_stages, p.context, p.expert, p.data, mcore::num_micro_batches(run),
      mcore::num_micro_batches(run) == 1 ? "" : "es", run.batch.micro, run.batch.seq,
      to_text(options.bytes_allowed()));
}

int64_t layers_of_rank(const mcore::Run& run, int64_t rank) {
  int64_t layers = 0;
  for (int64_t stage = 0; stage < run.parallel.virtual_stages; ++stage) {
    layers += mcore::stage_layers(run, rank, stage).count;
  }
  return layers;
}

ordered_json rank_json(const plan::RankBytes& rank) {
  return {{"rank", rank.rank},
          {"peak_bytes", rank.allocated.count()},
          {"peak_upper_bytes", rank.upper.count()},
          {"reserved_bytes", rank.reserved.count()},
          {"at_rest_bytes", rank.at_rest.count()},
          {"phase", rank.phase},
          {"verdict", to_text(rank.verdict)},
          {"fails_by_fragmentation", rank.fails_by_fragmentation},
          {"expandable_segments_fit", rank.expandable_segments_fit},
          {"accounts", tree_json(rank.accounts)}};
}

}  // namespace refrain::cli
