// A config.json on its way to knobs: what the parts of the reader share.
#pragma once

#include <string>
#include <string_view>

#include "config/hugging_face/decoder.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

struct KnobImport {
  const HfType& type;
  FieldReader& read;
  const ModelConfig& model;
  Source source;
  Assignments knobs;

  void set(std::string_view knob, Value value) {
    knobs.push_back({std::string(knob), std::move(value), source});
  }
};

/// Sizes, norm, activation and biases of a layer, without its attention's heads.
Assignments layer_knobs(const ModelConfig& model, const Source& source);

/// Heads as Megatron counts them: grouped queries, latents or delta nets.
void set_attention(const HfRope& rope, KnobImport& in);

/// Experts, the layers that have them, and their router; nothing for a dense type.
void set_experts(KnobImport& in);

}  // namespace refrain::config
