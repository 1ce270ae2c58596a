// What a published measurement says of recompute, offload, graphs, number formats and overlap.
#pragma once

#include <set>
#include <string>

#include "accuracy/rows/table.h"
#include "config/recipes/recipe.h"
#include "mcore/run.h"

namespace refrain::accuracy {

/// The words of a row's `notes` and `source`, in lower case.
std::string remarks_of(const RowReader& row);

/// Number of a NeMo container, 2604 for "nemo 26.04.01"; 0 where the row names none.
int64_t release_of(const RowReader& row);

/// The precision token of recipe tables ("bf16", "fp8cs", "fp8mx", "nvfp4"); a complaint where the
/// cell is none of the known spellings.
std::string precision_of(RowReader& row);

/// Recompute as the columns say; an empty granularity is none.
mcore::Recompute read_measured_recompute(RowReader& row);

/// Captured scopes. Before releases printed them, "none:full_iteration" was a scope under the
/// implementation "local".
std::set<std::string> read_measured_graphs(RowReader& row);

/// Sets activations and optimizer states that go to the host.
void read_measured_offload(RowReader& row, mcore::Run& run);

/// The published recipe of a row. One that only matches the row is of another date than it.
struct RecipeOfRow {
  const config::Recipe* recipe = nullptr;  // null: none is known
  bool named = false;                      // the row says that it ran it
};

/// Sets dispatcher and overlap: what the row says, else the recipe, else what that release and GPU
/// did. Needs the model, the parallel sizes and the graphs.
void read_measured_overlap(const RowReader& row, const RecipeOfRow& known, mcore::Run& run);

}  // namespace refrain::accuracy
