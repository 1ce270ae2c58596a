// The run that a plan file names: config::fields_of read back.
#pragma once

#include "config/fields.h"

namespace refrain::plan {

/// The model, or the shape, whose fields these are. Findings: `plan.run`, one a field that is
/// missing, unknown or no value of its kind. What must hold of the values is not judged.
Checked<config::ModelConfig> model_of_fields(const config::Fields& fields);
Checked<config::RunShape> shape_of_fields(const config::Fields& fields);

}  // namespace refrain::plan
