// A dense decoder as the assignments that its publishers could have written.
#include <initializer_list>
#include <utility>

#include "config/inputs/hugging_face/knob_import.h"
#include "config/inputs/hugging_face/model_knobs.h"

namespace refrain::config {
namespace {

using KnobValues = std::initializer_list<std::pair<const char*, Value>>;

void set_all(const KnobValues& values, const Source& source, Assignments& knobs) {
  for (const auto& [knob, value] : values) knobs.push_back({knob, value, source});
}

}  // namespace

Assignments layer_knobs(const ModelConfig& model, const Source& source) {
  const bool gated = model.activation == ActivationKind::kSwiglu;
  const bool rms = model.norm == NormKind::kRmsNorm;
  Assignments knobs;
  set_all({{"num_layers", model.num_layers},
           {"hidden_size", model.hidden},
           {"ffn_hidden_size", model.ffn_hidden},
           {"num_attention_heads", model.num_heads},
           {"normalization", rms ? "RMSNorm" : "LayerNorm"},
           {"layernorm_epsilon", model.norm_eps},
           {"qk_layernorm", model.qk_norm},
           {"activation_func", gated ? "silu" : "gelu"},
           {"gated_linear_unit", gated},
           {"add_bias_linear", model.linear_bias},
           {"add_qkv_bias", model.qkv_bias}},
          source, knobs);
  if (model.position == PositionKind::kRope) {
    set_all({{"rotary_base", model.rope_base}}, source, knobs);
  }
  return knobs;
}

Assignments decoder_knobs(const ModelConfig& model, const Source& source) {
  Assignments knobs = layer_knobs(model, source);
  set_all({{"num_query_groups", model.num_kv_heads}, {"kv_channels", model.head_dim}}, source,
          knobs);
  return knobs;
}

}  // namespace refrain::config
