#include "accuracy/ci/ci_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "accuracy/model_of.h"
#include "accuracy/rows/layout.h"
#include "config/scan.h"

namespace refrain::accuracy {
namespace {

using mcore::Run;

void set_layout(const std::optional<Layout>& layout, std::string_view column, RowReader& row,
                Run& run) {
  if (!layout) {
    return row.complain(column, fmt::format("all {} layers in stages for {} pipeline ranks",
                                            run.model.layers.size(), run.parallel.pipeline));
  }
  run.parallel.layout = *layout;
  run.parallel.virtual_stages = std::ssize(*layout);
}

/// "M-M-|M*-M-": the stages of a hybrid model.
void read_hybrid_stages(std::string_view column, RowReader& row, Run& run) {
  const std::string_view pattern = row.text(column);
  std::vector<int64_t> stages;
  for (const std::string& stage : config::split(pattern.substr(0, pattern.find('/')), '|')) {
    stages.push_back(std::ssize(hybrid_layers(stage).value_or(std::vector<mcore::LayerKind>())));
  }
  set_layout(layout_of(stages, run.parallel.pipeline), column, row, run);
}

int64_t virtual_stages_of(RowReader& row, const Run& run) {
  if (run.parallel.pipeline == 1) return 1;
  const int64_t num_layers = std::ssize(run.model.layers);
  if (const auto layers = row.whole("num-layers-per-virtual-pipeline-stage")) {
    return std::max<int64_t>(1, num_layers / run.parallel.pipeline / *layers);
  }
  return row.whole_or("num-virtual-stages-per-pipeline-rank", 1, {.most = 1 << 14});
}

/// The first and the last rank may have their own number of layers; the others share the rest.
void read_uneven_ends(RowReader& row, Run& run) {
  constexpr std::string_view kFirst = "decoder-first-pipeline-num-layers";
  constexpr std::string_view kLast = "decoder-last-pipeline-num-layers";
  const int64_t ranks = run.parallel.pipeline;
  if (ranks * run.parallel.virtual_stages > std::ssize(run.model.layers)) return;  // check_sizes
  const auto first = row.whole(kFirst), last = row.whole(kLast);
  const int64_t others = ranks - (first ? 1 : 0) - (last ? 1 : 0);
  const int64_t rest = std::ssize(run.model.layers) - first.value_or(0) - last.value_or(0);
  const int64_t share = rest / std::max<int64_t>(1, others);
  if (others < 1 || rest < 0 || share * others != rest) {
    return row.complain(first ? kFirst : kLast, "such that the other ranks share the rest evenly");
  }
  std::vector<int64_t> of_rank(static_cast<size_t>(ranks), share);
  if (first) of_rank.front() = *first;
  if (last) of_rank.back() = *last;
  for (int64_t& layers : of_rank) {
    if (layers % run.parallel.virtual_stages != 0) {
      return row.complain(first ? kFirst : kLast, "a multiple of the virtual stages");
    }
    layers /= run.parallel.virtual_stages;
  }
  run.parallel.layout.assign(static_cast<size_t>(run.parallel.virtual_stages), of_rank);
}

}  // namespace

void read_layout(RowReader& row, Run& run) {
  const std::string_view hybrid =
      row.given("hybrid-layer-pattern") ? "hybrid-layer-pattern" : "hybrid-override-pattern";
  run.parallel.virtual_stages = virtual_stages_of(row, run);
  run.parallel.embedding_counts = row.yes("account-for-embedding-in-pipeline-split");
  run.parallel.loss_counts = row.yes("account-for-loss-in-pipeline-split");
  if (row.text(hybrid).find('|') != std::string_view::npos) {
    read_hybrid_stages(hybrid, row, run);
  } else if (row.given("pipeline-model-parallel-layout")) {
    constexpr std::string_view kColumn = "pipeline-model-parallel-layout";
    const auto layout =
        layout_of_text(row.text(kColumn), std::ssize(run.model.layers), run.parallel.pipeline);
    set_layout(layout, kColumn, row, run);
  } else if (row.given("decoder-first-pipeline-num-layers") ||
             row.given("decoder-last-pipeline-num-layers")) {
    read_uneven_ends(row, run);
  }
}

}  // namespace refrain::accuracy
