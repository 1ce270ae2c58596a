#include "config/hugging_face/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/scan.h"

namespace refrain::config {
namespace {

using nlohmann::json;

/// Fields that do not touch training, or that say again what others say.
constexpr std::string_view kHarmless[] = {"_attn_implementation",
                                          "_name_or_path",
                                          "architectures",
                                          "attn_implementation",
                                          "auto_map",
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

int64_t head_dim_of(FieldReader& read, const ModelConfig& model, std::string_view hidden_field,
                    std::string_view heads_field) {
  if (model.hidden % model.num_heads != 0 && !read.failed()) {
    read.complain({"model.heads-divide-hidden",
                   fmt::format("{} must be a multiple of {}: {} and {}", hidden_field, heads_field,
                               model.hidden, model.num_heads),
                   "correct one of them, or give head_dim where the type has it"});
  }
  return std::max<int64_t>(1, model.hidden / model.num_heads);
}

int64_t read_head_dim(const HfType& type, FieldReader& read, const ModelConfig& model) {
  if (type.attention == HfAttention::kLatent) {
    read.raw("head_dim");  // the class makes it of the other
    return read.size("qk_rope_head_dim");
  }
  if (!read.raw("head_dim").is_null()) return read.size("head_dim");
  const bool as_class = read.absent("head_dim") && type.absent.head_dim > 0;
  return as_class ? type.absent.head_dim
                  : head_dim_of(read, model, "hidden_size", "num_attention_heads");
}

void read_sizes(const HfType& type, FieldReader& read, ModelConfig& model) {
  model.num_layers = read.size("num_hidden_layers");
  model.hidden = read.size("hidden_size");
  model.num_heads = read.size("num_attention_heads");
  model.ffn_hidden = read.size("intermediate_size");
  model.vocab = read.size("vocab_size");
  model.max_positions = read.size("max_position_embeddings", type.absent.positions);
  const bool as_class = read.absent("num_key_value_heads") && type.absent.kv_heads > 0;
  model.num_kv_heads =
      read.size("num_key_value_heads", as_class ? type.absent.kv_heads : model.num_heads);
  model.head_dim = read_head_dim(type, read, model);
}

/// Reads {"rope_type" | "type": "yarn", "rope_theta": ..., "partial_rotary_factor": ...}.
void read_rope_object(FieldReader& read, const std::string& field, HfDecoder& decoder) {
  const json& rope = read.raw(field);
  if (is_off(rope)) return;
  if (!rope.is_object()) {
    return read.complain({"model.wrong-type",
                          fmt::format("{} must be an object or null: {}", field, shown(rope)),
                          "correct the file"});
  }
  FieldReader inner = read.inside(rope);
  const std::string scaling = inner.text("rope_type", inner.text("type", "default"));
  if (scaling != "default") {
    decoder.rope.scaling = scaling;
    decoder.rope.scaling_field = field + (rope.contains("rope_type") ? ".rope_type" : ".type");
  }
  if (!inner.raw("partial_rotary_factor").is_null()) {
    decoder.rope.part = inner.fraction("partial_rotary_factor", decoder.rope.part);
    decoder.rope.part_field = field + ".partial_rotary_factor";
  }
  decoder.model.rope_base = inner.real("rope_theta", decoder.model.rope_base);
}

void read_rope(const HfType& type, FieldReader& read, HfDecoder& decoder) {
  decoder.model.rope_base = read.real("rope_theta", type.absent.rope_base);
  decoder.rope.part = read.fraction("partial_rotary_factor", type.absent.rotary_part);
  decoder.rope.part_field = "partial_rotary_factor";
  read_rope_object(read, "rope_scaling", decoder);
  read_rope_object(read, "rope_parameters", decoder);
}

HfBiases read_biases(const HfType& type, FieldReader& read) {
  switch (type.bias) {
    case HfBias::kNone:
      return {};
    case HfBias::kQkv:
      return {.qkv = true};
    case HfBias::kQkvByField:
      return {.qkv = read.flag("attention_bias", false)};
    case HfBias::kQkvUnlessOff:
      return {.qkv = read.flag("qkv_bias", true)};
    case HfBias::kAttention:
    case HfBias::kAttentionAndMlp: {
      const bool attention = read.flag("attention_bias", false);
      const bool mlp = type.bias == HfBias::kAttentionAndMlp && read.flag("mlp_bias", false);
      return {attention, attention, mlp};
    }
    case HfBias::kExpertsToo: {
      const bool attention = read.flag("attention_bias", true);
      return {attention, attention, true};
    }
    case HfBias::kAll:
      break;
  }
  return {true, true, true};
}

bool read_qk_norm(const HfType& type, FieldReader& read) {
  if (type.qk_norm == HfQkNorm::kByField) return read.flag("use_qk_norm", false);
  return type.qk_norm == HfQkNorm::kYes;
}

void read_gpt2(FieldReader& read, ModelConfig& model) {
  model.num_layers = read.size("n_layer");
  model.hidden = read.size("n_embd");
  model.num_heads = read.size("n_head");
  model.num_kv_heads = model.num_heads;
  model.head_dim = head_dim_of(read, model, "n_embd", "n_head");
  model.ffn_hidden = read.size("n_inner", 4 * model.hidden);
  model.vocab = read.size("vocab_size");
  model.max_positions = read.size("n_positions", 1024);
  model.norm = NormKind::kLayerNorm;
  model.norm_eps = read.real("layer_norm_epsilon", 1e-5);
  model.position = PositionKind::kLearned;
  model.tied_embeddings = read.flag("tie_word_embeddings", true);
  const std::string act = read.text("activation_function", "gelu_new");
  model.activation = act == "gelu" ? ActivationKind::kGeluErf : ActivationKind::kGeluTanh;
  if (act != "gelu" && act != "gelu_new" && act != "gelu_pytorch_tanh") {
    read.complain(
        unsupported_field("activation_function", json(act), "an activation other than GELU"));
  }
}

}  // namespace

HfDecoder read_decoder(const HfType& type, FieldReader& read) {
  HfDecoder decoder;
  ModelConfig& model = decoder.model;
  if (type.name == "gpt2") {
    read_gpt2(read, model);
    decoder.biases = read_biases(type, read);
    return decoder;
  }
  read_sizes(type, read, model);
  model.norm_eps = read.real("rms_norm_eps", type.absent.norm_eps);
  read_rope(type, read, decoder);
  decoder.biases = read_biases(type, read);
  model.qk_norm = read_qk_norm(type, read);
  model.tied_embeddings = read.flag("tie_word_embeddings", false);
  const std::string act = read.text("hidden_act", "silu");
  if (act != "silu" && act != "swish") {
    read.complain(unsupported_field("hidden_act", json(act), "a gated activation other than silu"));
  }
  return decoder;
}

Finding unsupported_field(std::string_view field, const json& value, std::string_view effect) {
  return {"model.unsupported-field",
          fmt::format("Refrain does not model {}: {} is {}", effect, field, shown(value)),
          fmt::format("take another model, or drop {} knowing that the numbers change", field)};
}

const HfType* type_of(FieldReader& read, bool only_trained) {
  const std::string name = read.text("model_type", "");
  const HfType* type = find_hf_type(name);
  if (type != nullptr && (type->trains || !only_trained)) return type;
  const std::vector<std::string> names = hf_type_names(only_trained);
  const auto near = nearest(name, names);
  const json& given = read.raw("model_type");
  read.complain({"model.unsupported-type",
                 fmt::format("model_type must be one of {}: {}", joined(names),
                             read.absent("model_type") ? "it is not there" : shown(given)),
                 type != nullptr ? "`refrain check --model` reads it; other commands do not yet"
                 : near          ? fmt::format("the nearest is {}; other kinds of layer are not "
                                                        "modelled yet",
                                               *near)
                                 : "other kinds of layer are not modelled yet"});
  return nullptr;
}

void note_unread(FieldReader& read) {
  read.skip(kHarmless);
  std::vector<std::string> names;
  for (const std::string& name : read.unread()) names.push_back(in_quotes(name));
  if (names.empty()) return;
  read.complain({"model.unread-field",
                 fmt::format("Refrain does not know what these fields do and ignores them: {}",
                             joined(names)),
                 "check that none of them changes the model", Severity::kNote});
}

}  // namespace refrain::config
