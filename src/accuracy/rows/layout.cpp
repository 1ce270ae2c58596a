#include "accuracy/rows/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "config/knobs/pipeline_layout.h"

namespace refrain::accuracy {
namespace {

using mcore::Run;

Finding sizes(int64_t row, std::string_view what) {
  return {"accuracy.sizes", fmt::format("sizes of row {} must fit together: {}", row, what),
          "correct the row"};
}

/// Layers on all stages together.
int64_t placed_layers(const Run& run) {
  int64_t placed = 0;
  for (int64_t stage = 0; stage < run.parallel.virtual_stages; ++stage) {
    for (int64_t rank = 0; rank < run.parallel.pipeline; ++rank) {
      placed += mcore::stage_layers(run, rank, stage).count;
    }
  }
  return placed;
}

/// Far above what a rank could hold, far below what 64 bits can.
bool too_large(const Run& run) {
  constexpr double kMostBytes = 1e18;
  const mcore::Model& model = run.model;
  const auto real = [](int64_t n) { return static_cast<double>(n); };
  const double seq = real(std::max(run.batch.seq, run.batch.encoder_seq));
  const double tokens = seq * real(run.batch.micro);
  const double widths = real(model.hidden) + real(model.ffn) + real(model.experts.shared_ffn) +
                        real(std::max<int64_t>(1, model.experts.topk)) * real(model.experts.ffn) +
                        real(model.attention.num_heads) *
                            (real(model.attention.head_dim) + real(model.attention.qk_nope_dim) +
                             real(model.attention.v_dim) + seq);
  const double layers =
      real(std::ssize(model.layers)) + real(model.encoder_layers) + real(model.mtp_layers);
  const double weights =
      real(model.hidden) * (widths + real(model.experts.num_experts) * real(model.experts.ffn));
  return 32 * tokens * (layers * widths + real(model.vocab)) > kMostBytes ||
         32 * (layers * weights + real(model.vocab) * real(model.hidden)) > kMostBytes;
}

}  // namespace

std::optional<Layout> layout_of(const std::vector<int64_t>& stages, int64_t ranks) {
  if (stages.empty() || std::ssize(stages) % ranks != 0) return std::nullopt;
  Layout layout;
  for (size_t first = 0; first < stages.size(); first += static_cast<size_t>(ranks)) {
    const auto begin = stages.begin() + static_cast<std::ptrdiff_t>(first);
    layout.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(ranks));
  }
  return layout;
}

std::optional<Layout> layout_of_text(std::string_view text, int64_t num_layers, int64_t ranks) {
  const auto stages = config::layout_stages(text);
  if (!stages) return std::nullopt;
  std::vector<int64_t> layers;
  for (const std::string& stage : *stages) {
    layers.push_back(std::count(stage.begin(), stage.end(), 't'));
  }
  if (std::accumulate(layers.begin(), layers.end(), int64_t{0}) != num_layers) return std::nullopt;
  return layout_of(layers, ranks);
}

Findings check_sizes(const Run& run, int64_t row_number) {
  Findings findings;
  const auto divides = [&](int64_t whole, int64_t parts, std::string_view what,
                           std::string_view among) {
    if (whole % parts == 0) return;
    findings.push_back(
        sizes(row_number, fmt::format("{} {} among {} {} ranks", whole, what, parts, among)));
  };
  const mcore::Parallel& parallel = run.parallel;
  divides(run.model.attention.num_heads, parallel.tensor, "heads", "tensor");
  divides(run.model.ffn, parallel.tensor, "FFN columns", "tensor");
  if (run.model.experts.num_experts > 0) {
    divides(run.model.experts.num_experts, parallel.expert, "experts", "expert");
    divides(run.model.experts.ffn, parallel.expert_tensor, "FFN columns", "expert-tensor");
  }
  divides(run.batch.seq, parallel.context, "tokens of a sequence", "context");
  const int64_t stages = parallel.virtual_stages * parallel.pipeline;
  const bool has_room = stages <= std::ssize(run.model.layers) + 2;  // embedding, loss
  if (!has_room || placed_layers(run) != std::ssize(run.model.layers)) {
    findings.push_back(
        sizes(row_number, fmt::format("{} layers on {} stages of {} ranks", run.model.layers.size(),
                                      parallel.virtual_stages, parallel.pipeline)));
  }
  constexpr int64_t kMostExperts = 1'000'000;  // of all layers: each is a handful of tensors
  if (run.model.experts.num_experts * std::ssize(run.model.layers) > kMostExperts) {
    findings.push_back(
        sizes(row_number, fmt::format("{} experts in each of {} layers",
                                      run.model.experts.num_experts, run.model.layers.size())));
  }
  if (too_large(run)) findings.push_back(sizes(row_number, "their bytes are beyond any rank"));
  return findings;
}

}  // namespace refrain::accuracy
