// What training asks of a config.json beyond the decoder's sizes: fields whose effect Refrain's
// engine does not have must be off.
#include "config/hugging_face/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/hugging_face/decoder.h"
#include "config/hugging_face/model_file.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using nlohmann::json;

enum class Must { kBeOff, kBeTrue };

/// Fields with an effect that the engine does not have.
struct UnmodelledField {
  std::string_view name;
  Must must;
  std::string_view effect;
};
constexpr UnmodelledField kUnmodelled[] = {
    {"num_local_experts", Must::kBeOff, "Mixture-of-Experts layers"},
    {"num_experts", Must::kBeOff, "Mixture-of-Experts layers"},
    {"n_routed_experts", Must::kBeOff, "Mixture-of-Experts layers"},
    {"num_nextn_predict_layers", Must::kBeOff, "multi-token prediction"},
    {"kv_lora_rank", Must::kBeOff, "multi-latent attention"},
    {"q_lora_rank", Must::kBeOff, "multi-latent attention"},
    {"quantization_config", Must::kBeOff, "quantized weights"},
    {"no_rope_layers", Must::kBeOff, "layers without positions"},
    {"use_mrope", Must::kBeOff, "multi-axis RoPE"},
    {"attn_logit_softcapping", Must::kBeOff, "capped attention scores"},
    {"final_logit_softcapping", Must::kBeOff, "capped logits"},
    {"clip_qkv", Must::kBeOff, "clipped q, k and v"},
    {"scale_attn_weights", Must::kBeTrue, "attention scores that are not scaled"},
    {"scale_attn_by_inverse_layer_idx", Must::kBeOff, "attention scores scaled by layer"},
    {"reorder_and_upcast_attn", Must::kBeOff, "attention scores in another precision"},
    {"add_cross_attention", Must::kBeOff, "cross attention"},
    {"is_encoder_decoder", Must::kBeOff, "an encoder"},
    {"pruned_heads", Must::kBeOff, "heads taken out"},
};

/// Probabilities that Refrain takes from --dropout instead.
constexpr std::string_view kDropouts[] = {"attention_dropout", "attn_pdrop", "embd_pdrop",
                                          "hidden_dropout", "resid_pdrop"};

void refuse_unmodelled(FieldReader& read) {
  for (const UnmodelledField& field : kUnmodelled) {
    const json& value = read.raw(std::string(field.name));
    const bool fits =
        field.must == Must::kBeOff ? is_off(value) : value.is_null() || value == json(true);
    if (!fits) read.complain(unsupported_field(field.name, value, field.effect));
  }
}

void refuse_other_rope(const HfRope& rope, FieldReader& read) {
  if (!rope.scaling.empty()) {
    read.complain(unsupported_field(rope.scaling_field, json(rope.scaling), "scaled RoPE"));
  }
  if (rope.part != 1) {
    read.complain(unsupported_field(rope.part_field, json(rope.part), "RoPE on a part of a head"));
  }
}

void take_biases(const HfBiases& biases, FieldReader& read, ModelConfig& model) {
  model.qkv_bias = biases.qkv;
  model.linear_bias = biases.output && biases.mlp;
  if (biases.output == biases.mlp) return;
  read.complain(unsupported_field(biases.output ? "attention_bias" : "mlp_bias", json(true),
                                  "biases on only one of attention output and MLP"));
}

/// Positions beyond the window are not modelled; within it, sliding attention is full attention.
void cap_at_window(int64_t window, FieldReader& read, ModelConfig& model) {
  if (window >= model.max_positions) return;
  read.complain(
      {"model.sliding-window",
       fmt::format("attention beyond the sliding window is not modelled: sliding_window is {}, "
                   "max_position_embeddings {}; sequences up to {} are exact, longer ones refused",
                   window, model.max_positions, window),
       "nothing, for sequences within the window", Severity::kNote});
  model.max_positions = window;
}

void cap_mistral(FieldReader& read, ModelConfig& model) {
  if (read.is_null("sliding_window")) return;
  cap_at_window(read.size("sliding_window", 4096), read, model);
}

/// Qwen slides where use_sliding_window is set, in the layers that layer_types names, or else in
/// those from max_window_layers up.
void cap_qwen(FieldReader& read, ModelConfig& model) {
  const bool on = read.flag("use_sliding_window", false);
  const json& types = read.raw("layer_types");
  bool slides = on && read.real("max_window_layers", 28) < static_cast<double>(model.num_layers);
  if (types.is_array()) {
    const auto count = [&](const char* name) {
      return std::count(types.begin(), types.end(), json(name));
    };
    slides = count("sliding_attention") > 0;
    if (count("sliding_attention") + count("full_attention") !=
        static_cast<std::ptrdiff_t>(types.size())) {
      read.complain(
          unsupported_field("layer_types", types, "layers other than full and sliding attention"));
    }
  }
  if (slides) cap_at_window(read.size("sliding_window", 4096), read, model);
}

void note_dropout(FieldReader& read) {
  std::vector<std::string> dropouts;
  for (const std::string_view field : kDropouts) {
    const json& value = read.raw(std::string(field));
    if (!is_off(value)) dropouts.push_back(fmt::format("{} {}", field, shown(value)));
  }
  if (dropouts.empty()) return;
  read.complain(
      {"model.dropout-not-read",
       fmt::format("dropout comes from --dropout, not from the file's {}", joined(dropouts)),
       "give --dropout P to train with it", Severity::kNote});
}

void note_initializer(FieldReader& read) {
  const json& deviation = read.raw("initializer_range");
  if (deviation.is_null() || deviation == json(0.02)) return;
  read.complain({"model.initializer-not-read",
                 fmt::format("weights start with a deviation of 0.02, not the file's "
                             "initializer_range {}",
                             shown(deviation)),
                 "nothing, where weights are loaded", Severity::kNote});
}

ModelConfig read_model(const HfType& type, FieldReader& read) {
  const HfDecoder decoder = read_decoder(type, read);
  ModelConfig model = decoder.model;
  refuse_other_rope(decoder.rope, read);
  take_biases(decoder.biases, read, model);
  if (type.name == "mistral") cap_mistral(read, model);
  if (type.name.starts_with("qwen")) cap_qwen(read, model);
  refuse_unmodelled(read);
  note_dropout(read);
  note_initializer(read);
  note_unread(read);
  return model;
}

}  // namespace

Checked<ModelConfig> parse_hf_config(std::string_view text, const std::string& name) {
  Checked<json> file = parse_model_text(text, name);
  if (!file.value) return Checked<ModelConfig>::reject(std::move(file.findings));
  Findings findings;
  FieldReader read(*file.value, findings);
  const HfType* type = type_of(read, /*only_trained=*/true);
  if (type == nullptr) return Checked<ModelConfig>::reject(std::move(findings));
  ModelConfig model = read_model(*type, read);
  model.name = name;
  if (!rejects(findings)) {
    for (Finding& finding : validate(model)) findings.push_back(std::move(finding));
  }
  if (rejects(findings)) return Checked<ModelConfig>::reject(std::move(findings));
  return Checked<ModelConfig>::accept(std::move(model), std::move(findings));
}

}  // namespace refrain::config
