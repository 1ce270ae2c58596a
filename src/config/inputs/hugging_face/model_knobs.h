// Megatron's knobs for the model that a Hugging Face config.json describes.
#pragma once

#include <string>

#include "base/finding.h"
#include "config/knobs/assignment.h"
#include "config/model_config.h"

namespace refrain::config {

/// Reads the object of a config.json of any type in model_types.h: layers, heads, latent and linear
/// attention, experts, multi-token prediction. What Megatron's configuration classes have no field
/// for (vocabulary, windows, quantized weights) is left out. `place` is the file's name, for
/// sources. Findings name field and value: `model.` unsupported-type, missing-field, wrong-type,
/// size-out-of-range, unsupported-field and those of validate(ModelConfig); as notes bias-in-part
/// and unread-field.
Checked<Assignments> model_knobs(const Value& file, const std::string& place);

/// The same of a file's text, with the findings of read_model_text and parse_model_text.
Checked<Assignments> read_model_knobs(const std::string& path);

/// The knobs of a dense decoder.
Assignments decoder_knobs(const ModelConfig& model, const Source& source);

/// True for the object of a config.json: it names a model_type, and what goes with it.
bool is_model_file(const Value& file);

}  // namespace refrain::config
