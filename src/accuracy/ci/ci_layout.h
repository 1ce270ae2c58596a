// How a row of Megatron-LM's functional tests spreads layers over pipeline ranks.
#pragma once

#include "accuracy/rows/table.h"
#include "mcore/run.h"

namespace refrain::accuracy {

/// Sets virtual_stages, layout and what counts as a layer, from Megatron's arguments or from a
/// hybrid pattern with "|". Needs the model and the pipeline size.
void read_layout(RowReader& row, mcore::Run& run);

}  // namespace refrain::accuracy
