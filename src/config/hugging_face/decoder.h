// What every reader of a config.json takes from it, whatever the layers are made of.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/finding.h"
#include "config/hugging_face/model_types.h"
#include "config/json_fields.h"
#include "config/model_config.h"

namespace refrain::config {

/// Rotary positions; the names of fields are for findings, empty where none said so.
struct HfRope {
  double part = 1;  // of a head that is turned
  std::string part_field;
  std::string scaling;  // "yarn"; empty or "default": none
  std::string scaling_field;
};

struct HfBiases {
  bool qkv = false, output = false, mlp = false;
};

/// The decoder as if its layers were dense and its attention softmax: `model` lacks the biases of
/// linear layers. With latent attention head_dim is the part that RoPE turns.
struct HfDecoder {
  ModelConfig model;
  HfBiases biases;
  HfRope rope;
};

/// Absent fields have the defaults of the type's class. Findings: those of FieldReader,
/// `model.heads-divide-hidden`, and `model.unsupported-field` for an activation that no ModelConfig
/// has.
HfDecoder read_decoder(const HfType& type, FieldReader& read);

/// "Refrain does not model EFFECT: FIELD is VALUE".
Finding unsupported_field(std::string_view field, const nlohmann::json& value,
                          std::string_view effect);

/// The type that the file names; null with `model.unsupported-type`, which names the nearest, where
/// it is none of those, or not one that `trains` where only these are asked for.
const HfType* type_of(FieldReader& read, bool only_trained);

/// A note `model.unread-field` on what nobody read, but for fields that touch no training.
void note_unread(FieldReader& read);

}  // namespace refrain::config
