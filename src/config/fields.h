// A model or a shape as names and texts: to be written into files that name their run, compared
// with what is asked for, and shown.
#pragma once

#include <map>
#include <string>

#include "config/model_config.h"
#include "config/run_shape.h"

namespace refrain::config {

using Fields = std::map<std::string, std::string>;

/// Every field by name; equal text means equal value.
Fields fields_of(const ModelConfig& model);
Fields fields_of(const RunShape& shape);

/// "hidden: 512 in the checkpoint, 768 asked for; ..."; empty where the fields are equal. `where`
/// is "in the checkpoint".
std::string differences(const Fields& saved, const Fields& asked, std::string_view where);

/// Without what a model is called: the same sizes are the same model.
Fields without_name(Fields model);

}  // namespace refrain::config
