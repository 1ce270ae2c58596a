// Which layers stand on which stage of a published run's pipeline.
#pragma once

#include <string>
#include <vector>

#include "accuracy/rows/table.h"
#include "config/recipes/recipe.h"
#include "mcore/run.h"

namespace refrain::accuracy {

/// Sets the layout as the row says (pipeline_model_parallel_layout), else its recipe (null: none).
/// Where neither does: even; embedding and loss as a layer each where that makes it even; else full
/// stages from the front on, as the recipes with prediction layers have it, and a note. Complains
/// of a layout that does not hold the layers of every virtual stage.
void place_layers(RowReader& row, const config::Recipe* recipe, mcore::Run& run,
                  std::vector<std::string>& notes);

}  // namespace refrain::accuracy
