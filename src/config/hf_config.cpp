// Field by field what the transformers library's configuration classes of five model types mean.
//
// Three kinds of field: those a ModelConfig has a place for; those whose effect Refrain does not
// model, which must be off (kUnmodelled); those that do not touch training at all (kHarmless).
// Whatever else stands in a file is told as a note.
#include "config/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "config/json_fields.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using nlohmann::json;

/// What the classes LlamaConfig, MistralConfig, Qwen2Config and Qwen3Config differ in.
struct Family {
  std::string_view type;
  bool qkv_bias, qk_norm;
  int64_t kv_heads;   // where num_key_value_heads is absent; 0: as many as heads
  int64_t head_dim;   // where head_dim is absent; 0: hidden / heads
  int64_t positions;  // where max_position_embeddings is absent
};
constexpr Family kFamilies[] = {
    {"llama", false, false, 0, 0, 2048},
    {"mistral", false, false, 8, 0, 131072},
    {"qwen2", true, false, 32, 0, 32768},
    {"qwen3", false, true, 32, 128, 32768},
};

enum class Must { kBeOff, kBeTrue, kBeOne };

/// Fields with an effect that Refrain does not model.
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
    {"partial_rotary_factor", Must::kBeOne, "RoPE on a part of a head"},
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

/// Fields that do not touch training, or that say again what others say.
constexpr std::string_view kHarmless[] = {"_attn_implementation",
                                          "_name_or_path",
                                          "architectures",
                                          "attn_implementation",
                                          "bos_token_id",
                                          "chunk_size_feed_forward",
                                          "dtype",
                                          "eos_token_id",
                                          "finetuning_task",
                                          "gradient_checkpointing",
                                          "id2label",
                                          "label2id",
                                          "max_window_layers",
                                          "model_type",
                                          "n_ctx",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "pad_token_id",
                                          "pretraining_tp",
                                          "problem_type",
                                          "return_dict",
                                          "sliding_window",
                                          "summary_activation",
                                          "summary_first_dropout",
                                          "summary_proj_to_labels",
                                          "summary_type",
                                          "summary_use_proj",
                                          "task_specific_params",
                                          "torch_dtype",
                                          "transformers_version",
                                          "use_cache"};

/// Probabilities that Refrain takes from --dropout instead.
constexpr std::string_view kDropouts[] = {"attention_dropout", "attn_pdrop", "embd_pdrop",
                                          "hidden_dropout", "resid_pdrop"};

Finding unmodelled(std::string_view field, const json& value, std::string_view effect) {
  return {"model.unsupported-field",
          fmt::format("Refrain does not model {}: {} is {}", effect, field, shown(value)),
          fmt::format("train another model, or drop {} knowing that the numbers change", field)};
}

/// Reads one file; each step below fills its part of `model`.
struct Import {
  const json& file;
  Findings& findings;
  FieldReader reader{file, findings};
  ModelConfig model{};
};

int64_t head_dim_of(Import& in, const std::string& hidden_field, const std::string& heads_field) {
  const int64_t hidden = in.model.hidden;
  const int64_t heads = in.model.num_heads;
  if (hidden % heads != 0 && !rejects(in.findings)) {
    in.findings.push_back({"model.heads-divide-hidden",
                           fmt::format("{} must be a multiple of {}: {} and {}", hidden_field,
                                       heads_field, hidden, heads),
                           "correct one of them, or give head_dim where the type has it"});
  }
  return std::max<int64_t>(1, hidden / heads);
}

void read_llama_sizes(Import& in, const Family& family) {
  FieldReader& read = in.reader;
  ModelConfig& model = in.model;
  model.num_layers = read.size("num_hidden_layers");
  model.hidden = read.size("hidden_size");
  model.num_heads = read.size("num_attention_heads");
  model.ffn_hidden = read.size("intermediate_size");
  model.vocab = read.size("vocab_size");
  model.max_positions = read.size("max_position_embeddings", family.positions);
  const bool as_class = read.absent("num_key_value_heads") && family.kv_heads > 0;
  model.num_kv_heads =
      read.size("num_key_value_heads", as_class ? family.kv_heads : model.num_heads);
  if (!read.raw("head_dim").is_null()) {
    model.head_dim = read.size("head_dim");
  } else if (read.absent("head_dim") && family.head_dim > 0) {
    model.head_dim = family.head_dim;
  } else {
    model.head_dim = head_dim_of(in, "hidden_size", "num_attention_heads");
  }
}

/// Reads {"rope_type" | "type": "default", "rope_theta": ...}; any other type is a finding.
void read_rope_object(Import& in, const std::string& field) {
  const json& rope = in.reader.raw(field);
  if (is_off(rope)) return;
  if (!rope.is_object()) {
    in.findings.push_back({"model.wrong-type",
                           fmt::format("{} must be an object or null: {}", field, shown(rope)),
                           "correct the file"});
    return;
  }
  FieldReader inner(rope, in.findings);
  const std::string type = inner.text("rope_type", inner.text("type", "default"));
  if (type != "default") {
    in.findings.push_back(unmodelled(field + (rope.contains("rope_type") ? ".rope_type" : ".type"),
                                     json(type), "scaled RoPE"));
  }
  const json& part = inner.raw("partial_rotary_factor");
  if (!part.is_null() && part != json(1.0)) {
    in.findings.push_back(
        unmodelled(field + ".partial_rotary_factor", part, "RoPE on a part of a head"));
  }
  in.model.rope_base = inner.real("rope_theta", in.model.rope_base);
}

void read_llama_biases(Import& in, const Family& family) {
  in.model.qkv_bias = family.qkv_bias;
  in.model.qk_norm = family.qk_norm;
  if (family.type != "llama" && family.type != "qwen3") return;
  const bool attention = in.reader.flag("attention_bias", false);
  const bool mlp = family.type == "llama" && in.reader.flag("mlp_bias", false);
  in.model.qkv_bias = attention;
  in.model.linear_bias = attention && mlp;
  if (attention == mlp) return;
  in.findings.push_back(unmodelled(attention ? "attention_bias" : "mlp_bias", json(true),
                                   "biases on only one of attention output and MLP"));
}

/// Positions beyond the window are not modelled; within it, sliding attention is full attention.
void cap_at_window(Import& in, int64_t window) {
  if (window >= in.model.max_positions) return;
  in.findings.push_back(
      {"model.sliding-window",
       fmt::format("attention beyond the sliding window is not modelled: sliding_window is {}, "
                   "max_position_embeddings {}; sequences up to {} are exact, longer ones refused",
                   window, in.model.max_positions, window),
       "nothing, for sequences within the window", Severity::kNote});
  in.model.max_positions = window;
}

void read_mistral_window(Import& in) {
  if (in.reader.is_null("sliding_window")) return;
  cap_at_window(in, in.reader.size("sliding_window", 4096));
}

/// Qwen slides where use_sliding_window is set, in the layers that layer_types names, or else in
/// those from max_window_layers up.
void read_qwen_window(Import& in) {
  const bool on = in.reader.flag("use_sliding_window", false);
  const json& types = in.reader.raw("layer_types");
  bool slides =
      on && in.reader.real("max_window_layers", 28) < static_cast<double>(in.model.num_layers);
  if (types.is_array()) {
    const auto count = [&](const char* name) {
      return std::count(types.begin(), types.end(), json(name));
    };
    slides = count("sliding_attention") > 0;
    if (count("sliding_attention") + count("full_attention") !=
        static_cast<std::ptrdiff_t>(types.size())) {
      in.findings.push_back(
          unmodelled("layer_types", types, "layers other than full and sliding attention"));
    }
  }
  if (slides) cap_at_window(in, in.reader.size("sliding_window", 4096));
}

void read_llama(Import& in, const Family& family) {
  read_llama_sizes(in, family);
  in.model.norm_eps = in.reader.real("rms_norm_eps", 1e-6);
  in.model.rope_base = in.reader.real("rope_theta", 10000.0);
  read_rope_object(in, "rope_scaling");
  read_rope_object(in, "rope_parameters");
  read_llama_biases(in, family);
  in.model.tied_embeddings = in.reader.flag("tie_word_embeddings", false);
  const std::string act = in.reader.text("hidden_act", "silu");
  if (act != "silu" && act != "swish") {
    in.findings.push_back(
        unmodelled("hidden_act", json(act), "a gated activation other than silu"));
  }
  if (family.type == "mistral") read_mistral_window(in);
  if (family.type.starts_with("qwen")) read_qwen_window(in);
}

void read_gpt2(Import& in) {
  FieldReader& read = in.reader;
  ModelConfig& model = in.model;
  model.num_layers = read.size("n_layer");
  model.hidden = read.size("n_embd");
  model.num_heads = read.size("n_head");
  model.num_kv_heads = model.num_heads;
  model.head_dim = head_dim_of(in, "n_embd", "n_head");
  model.ffn_hidden = read.size("n_inner", 4 * model.hidden);
  model.vocab = read.size("vocab_size");
  model.max_positions = read.size("n_positions", 1024);
  model.norm = NormKind::kLayerNorm;
  model.norm_eps = read.real("layer_norm_epsilon", 1e-5);
  model.position = PositionKind::kLearned;
  model.qkv_bias = true;
  model.linear_bias = true;
  model.tied_embeddings = read.flag("tie_word_embeddings", true);
  const std::string act = read.text("activation_function", "gelu_new");
  model.activation = act == "gelu" ? ActivationKind::kGeluErf : ActivationKind::kGeluTanh;
  if (act != "gelu" && act != "gelu_new" && act != "gelu_pytorch_tanh") {
    in.findings.push_back(
        unmodelled("activation_function", json(act), "an activation other than GELU"));
  }
}

bool fits(const json& value, Must must) {
  switch (must) {
    case Must::kBeOff:
      return is_off(value);
    case Must::kBeTrue:
      return value.is_null() || value == json(true);
    case Must::kBeOne:
      break;
  }
  return value.is_null() || value == json(1);
}

void refuse_unmodelled(Import& in) {
  for (const UnmodelledField& field : kUnmodelled) {
    const json& value = in.reader.raw(std::string(field.name));
    if (!fits(value, field.must)) {
      in.findings.push_back(unmodelled(field.name, value, field.effect));
    }
  }
}

void note_the_rest(Import& in) {
  std::vector<std::string> dropouts;
  for (const std::string_view field : kDropouts) {
    const json& value = in.reader.raw(std::string(field));
    if (!is_off(value)) dropouts.push_back(fmt::format("{} {}", field, shown(value)));
  }
  if (!dropouts.empty()) {
    in.findings.push_back(
        {"model.dropout-not-read",
         fmt::format("dropout comes from --dropout, not from the file's {}", joined(dropouts)),
         "give --dropout P to train with it", Severity::kNote});
  }
  const json& deviation = in.reader.raw("initializer_range");
  if (!deviation.is_null() && deviation != json(0.02)) {
    in.findings.push_back({"model.initializer-not-read",
                           fmt::format("weights start with a deviation of 0.02, not the file's "
                                       "initializer_range {}",
                                       shown(deviation)),
                           "nothing, where weights are loaded", Severity::kNote});
  }
  for (const std::string_view field : kHarmless) in.reader.raw(std::string(field));
  const std::vector<std::string> unread = in.reader.unread();
  if (unread.empty()) return;
  std::vector<std::string> names;
  for (const std::string& name : unread) names.push_back(in_quotes(name));
  in.findings.push_back({"model.unread-field",
                         fmt::format("Refrain does not know what these fields do and ignores "
                                     "them: {}",
                                     joined(names)),
                         "check that none of them changes the model", Severity::kNote});
}

std::vector<std::string> known_types() {
  std::vector<std::string> types;
  for (const Family& family : kFamilies) types.emplace_back(family.type);
  types.emplace_back("gpt2");
  return types;
}

void read_model(Import& in) {
  const std::string type = in.reader.text("model_type", "");
  const auto family = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                   [&](const Family& f) { return f.type == type; });
  if (family != std::end(kFamilies)) {
    read_llama(in, *family);
  } else if (type == "gpt2") {
    read_gpt2(in);
  } else {
    in.findings.push_back(
        {"model.unsupported-type",
         fmt::format("model_type must be one of {}: {}", joined(known_types()),
                     in.file.contains("model_type") ? shown(in.file["model_type"]) : "not there"),
         "other kinds of layer are not modelled yet"});
    return;  // nothing else in the file can be judged
  }
  refuse_unmodelled(in);
  note_the_rest(in);
}

}  // namespace

Checked<ModelConfig> parse_hf_config(std::string_view text, const std::string& name) {
  Findings findings;
  json file;
  const auto broken = [&](std::string_view why) {
    return Checked<ModelConfig>::reject(
        {{"model.broken-json", fmt::format("{} must be JSON: {}", in_quotes(name), why),
          "correct the file, or fetch it again"}});
  };
  // The parser would take a zero byte for the end.
  if (text.find('\0') != std::string_view::npos) return broken("it contains a zero byte");
  try {
    file = json::parse(text);
  } catch (const json::exception& error) {
    return broken(error.what());
  }
  if (!file.is_object()) {
    return Checked<ModelConfig>::reject(
        {{"model.not-an-object",
          fmt::format("{} must hold one JSON object: {}", in_quotes(name), shown(file)),
          "give the config.json of a model"}});
  }
  Import in{file, findings};
  read_model(in);
  in.model.name = name;
  if (!rejects(findings)) {
    for (Finding& finding : validate(in.model)) findings.push_back(std::move(finding));
  }
  if (rejects(findings)) return Checked<ModelConfig>::reject(std::move(findings));
  return Checked<ModelConfig>::accept(std::move(in.model), std::move(findings));
}

}  // namespace refrain::config
