#include "config/inputs/hugging_face/model_knobs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config/hugging_face/model_file.h"
#include "config/inputs/hugging_face/knob_import.h"

namespace refrain::config {
namespace {

/// What a bias is on in Megatron: every linear layer, or q, k and v.
void take_biases(const HfBiases& biases, FieldReader& read, ModelConfig& model) {
  model.qkv_bias = biases.qkv;
  model.linear_bias = biases.output && biases.mlp;
  if (biases.output == biases.mlp) return;
  read.complain({"model.bias-in-part",
                 fmt::format("Megatron has biases on all linear layers or on q, k and v: the file "
                             "has one on the {} and none on the {}, which is left out",
                             biases.output ? "attention's output" : "MLP",
                             biases.output ? "MLP" : "attention's output"),
                 "nothing, for memory and time", Severity::kNote});
}

void set_dropout(KnobImport& in) {
  const bool gpt2 = in.type.name == "gpt2";
  in.set("attention_dropout",
         gpt2 ? in.read.fraction("attn_pdrop", 0.1) : in.read.fraction("attention_dropout", 0.0));
  in.set("hidden_dropout", gpt2 ? in.read.fraction("resid_pdrop", 0.1) : 0.0);
}

/// Fields that no configuration class of Megatron has, or that say again what others say.
constexpr std::string_view kNoKnob[] = {"attention_type",
                                        "aux_loss_alpha",
                                        "clip_qkv",
                                        "embd_pdrop",
                                        "ep_size",
                                        "experts_per_token",
                                        "full_attention_interval",
                                        "initial_context_length",
                                        "initializer_range",
                                        "layer_types",
                                        "n_group",
                                        "num_local_experts",
                                        "output_router_logits",
                                        "quantization_config",
                                        "rope_interleave",
                                        "router_aux_loss_coef",
                                        "routed_scaling_factor",
                                        "seq_aux",
                                        "swiglu_alpha",
                                        "swiglu_limit",
                                        "topk_group",
                                        "use_mrope",
                                        "use_sliding_window"};

Assignments import(const HfType& type, FieldReader& read, const Source& source) {
  HfDecoder decoder = read_decoder(type, read);
  take_biases(decoder.biases, read, decoder.model);
  if (!read.failed()) {
    for (Finding& finding : validate(decoder.model)) read.complain(std::move(finding));
  }
  KnobImport in{type, read, decoder.model, source, layer_knobs(decoder.model, source)};
  set_attention(decoder.rope, in);
  set_experts(in);
  // Its experts have a gate of their own, which Megatron calls by its activation.
  if (type.name == "gpt_oss") in.set("activation_func", "quick_gelu");
  if (const int64_t depth = read.count("num_nextn_predict_layers", 0); depth > 0) {
    in.set("mtp_num_layers", depth);
  }
  set_dropout(in);
  read.skip(kNoKnob);
  note_unread(read);
  return std::move(in.knobs);
}

}  // namespace

Checked<Assignments> model_knobs(const Value& file, const std::string& place) {
  Findings findings;
  FieldReader read(file, findings);
  Assignments knobs;
  if (const HfType* type = type_of(read, /*only_trained=*/false)) {
    knobs = import(*type, read, {Origin::kFile, place});
  }
  if (rejects(findings)) return Checked<Assignments>::reject(std::move(findings));
  return Checked<Assignments>::accept(std::move(knobs), std::move(findings));
}

Checked<Assignments> read_model_knobs(const std::string& path) {
  const Checked<std::string> text = read_model_text(path);
  if (!text.value) return Checked<Assignments>::reject(text.findings);
  const Checked<Value> file = parse_model_text(*text.value, path);
  if (!file.value) return Checked<Assignments>::reject(file.findings);
  return model_knobs(*file.value, path);
}

bool is_model_file(const Value& file) {
  if (!file.is_object() || !file.contains("model_type")) return false;
  for (const char* other : {"architectures", "transformers_version", "num_hidden_layers"}) {
    if (file.contains(other)) return true;
  }
  return false;
}

}  // namespace refrain::config
