// The model that a row of Megatron-LM's functional tests describes.
#pragma once

#include "accuracy/rows/table.h"
#include "mcore/run.h"

namespace refrain::accuracy {

/// True for a recording from before October 2025: every fifth step of it was kept, or it is from a
/// cluster that is gone. The test data, and what some layers keep, changed then.
bool is_old_recording(RowReader& row);

/// Reads the model. What the row leaves out is at Megatron-LM's default.
mcore::Model read_ci_model(RowReader& row);

}  // namespace refrain::accuracy
