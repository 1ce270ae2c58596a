#include "accuracy/measured/stage_layers.h"

#include <algorithm>
#include <string_view>

#include "accuracy/measured/recipe_match.h"
#include "accuracy/rows/layout.h"

namespace refrain::accuracy {
namespace {

constexpr std::string_view kLayout = "pipeline_model_parallel_layout";

/// As the row says, else its recipe; "" where neither does.
std::string layout_text(const RowReader& row, const config::Recipe* recipe) {
  if (row.given(kLayout)) return std::string(row.text(kLayout));
  const config::Value* text = recipe ? recipe_value(*recipe, kLayout) : nullptr;
  return text && text->is_string() ? text->get<std::string>() : std::string();
}

}  // namespace

void place_layers(RowReader& row, const config::Recipe* recipe, mcore::Run& run,
                  std::vector<std::string>& notes) {
  mcore::Parallel& parallel = run.parallel;
  const int64_t num_layers = std::ssize(run.model.layers);
  const int64_t stages = parallel.pipeline * parallel.virtual_stages;
  const std::string text = layout_text(row, recipe);
  if (!text.empty()) {
    const auto layout = layout_of_text(text, num_layers, parallel.pipeline);
    if (layout && std::ssize(*layout) == parallel.virtual_stages) {
      parallel.layout = *layout;
      return;
    }
    if (row.given(kLayout)) row.complain(kLayout, "the layers of every virtual stage");
  }
  if (num_layers % stages == 0) return;
  if ((num_layers + 2) % stages == 0) {  // also a stage for each alone
    parallel.embedding_counts = parallel.loss_counts = true;
    return;
  }
  if (stages > num_layers) return;  // check_sizes says so
  const int64_t full = (num_layers + stages - 1) / stages;
  std::vector<int64_t> of_stage;
  for (int64_t left = num_layers, i = 0; i < stages; ++i) {
    of_stage.push_back(std::min(full, left));
    left -= of_stage.back();
  }
  parallel.layout = layout_of(of_stage, parallel.pipeline).value();
  notes.emplace_back("layers of each stage are not stated: full ones from the front assumed");
}

}  // namespace refrain::accuracy
