#include "accuracy/model_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/knobs/knobs.h"
#include "config/scan.h"

namespace refrain::accuracy {
namespace {

using config::contains;
using config::Value;
using mcore::FeedForward;
using mcore::LayerKind;
using mcore::Mixer;

/// Most published models round to it; the two rows that state no vocabulary are near it.
constexpr int64_t kAssumedVocab = 131072;
/// Megatron-Core's MLATransformerConfig.
constexpr int64_t kDefaultQkDim = 128, kDefaultRopeDim = 64, kDefaultVDim = 128;
/// Megatron-Core's TransformerConfig.
constexpr int64_t kDefaultMambaHeadDim = 64, kDefaultMambaState = 128, kDefaultMambaGroups = 8;

/// The knobs that an architecture assigns, by name; the last assignment counts.
class Assigned {
 public:
  explicit Assigned(const config::Assignments& assignments) : assignments_(assignments) {}

  const Value* find(std::string_view knob) const {
    const Value* found = nullptr;
    for (const config::Assignment& each : assignments_) {
      if (each.knob == knob) found = &each.value;
    }
    return found;
  }
  int64_t whole(std::string_view knob, int64_t fallback = 0) const {
    const Value* value = find(knob);
    return value && value->is_number_integer() ? value->get<int64_t>() : fallback;
  }
  bool truth(std::string_view knob, bool fallback) const {
    const Value* value = find(knob);
    return value && value->is_boolean() ? value->get<bool>() : fallback;
  }
  std::string word(std::string_view knob) const {
    const Value* value = find(knob);
    return value && value->is_string() ? value->get<std::string>() : std::string();
  }

 private:
  const config::Assignments& assignments_;
};

/// The window of "sliding window 128 on alternating layers"; 0 where there is none.
int64_t window_of(std::string_view attention_kind) {
  constexpr std::string_view kWords = "sliding window ";
  const size_t at = attention_kind.find(kWords);
  if (at == std::string_view::npos) return 0;
  std::string_view digits = attention_kind.substr(at + kWords.size());
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  return config::parse_whole(digits).value_or(0);
}

bool is_linear(const Assigned& given) {
  return given.word("experimental_attention_variant") == "gated_delta_net";
}

mcore::AttentionSize attention_of(const Assigned& given, std::string_view kind, int64_t hidden) {
  mcore::AttentionSize size{.num_heads = given.whole("num_attention_heads")};
  size.num_query_groups = given.whole("num_query_groups", size.num_heads);
  size.head_dim = given.whole("kv_channels", hidden / std::max<int64_t>(1, size.num_heads));
  size.qk_norm = given.truth("qk_layernorm", false);
  // Those that mix it with Gated DeltaNet gate what softmax attention gives (Qwen3-Next, Qwen3.5).
  size.output_gate = given.truth("attention_output_gate", is_linear(given));
  size.window = window_of(kind);
  if (!given.truth("multi_latent_attention", false)) return size;
  size.q_lora_rank = given.whole("q_lora_rank");
  size.kv_lora_rank = given.whole("kv_lora_rank");
  size.qk_nope_dim = given.whole("qk_head_dim", kDefaultQkDim);
  size.qk_rope_dim = given.whole("qk_pos_emb_head_dim", kDefaultRopeDim);
  size.v_dim = given.whole("v_head_dim", kDefaultVDim);
  return size;
}

mcore::StateSize state_of(const Assigned& given, int64_t hidden) {
  const config::Knobs knobs;  // Megatron's defaults
  mcore::StateSize size;
  size.num_key_heads = given.whole("linear_num_key_heads", *knobs.linear_num_key_heads);
  size.num_value_heads = given.whole("linear_num_value_heads", *knobs.linear_num_value_heads);
  size.key_dim = given.whole("linear_key_head_dim", *knobs.linear_key_head_dim);
  size.value_dim = given.whole("linear_value_head_dim", *knobs.linear_value_head_dim);
  size.conv_kernel = given.whole("linear_conv_kernel_dim", *knobs.linear_conv_kernel_dim);
  size.head_dim = given.whole("mamba_head_dim", kDefaultMambaHeadDim);
  size.num_heads = given.whole("mamba_num_heads", 2 * hidden / std::max<int64_t>(1, size.head_dim));
  size.state_dim = given.whole("mamba_state_dim", kDefaultMambaState);
  size.num_groups = given.whole("mamba_num_groups", kDefaultMambaGroups);
  return size;
}

mcore::ExpertSize experts_of(const Assigned& given, int64_t ffn) {
  mcore::ExpertSize size{.num_experts = given.whole("num_moe_experts")};
  if (size.num_experts == 0) return size;
  size.topk = given.whole("moe_router_topk", config::Knobs().moe_router_topk);
  size.ffn = given.whole("moe_ffn_hidden_size", ffn);
  size.shared_ffn = given.whole("moe_shared_expert_intermediate_size");
  size.latent_dim = given.whole("moe_latent_size");
  size.grouped_gemm = true;
  size.dispatcher = "alltoall";
  return size;
}

/// Which layers a frequency says are of the special kind. A rhythm of n: every n-th from the first
/// on, as Megatron-Core reads moe_layer_freq.
bool has_experts(const Value* frequency, int64_t layer) {
  if (frequency == nullptr) return true;
  if (frequency->is_number_integer()) {
    return layer % std::max<int64_t>(1, frequency->get<int64_t>()) == 0;
  }
  const auto index = static_cast<size_t>(layer);
  return frequency->is_array() && index < frequency->size() && (*frequency)[index] != 0;
}

std::vector<LayerKind> uniform_layers(const Assigned& given, bool windowed) {
  const bool latent = given.truth("multi_latent_attention", false);
  const bool experts = given.whole("num_moe_experts") > 0;
  const int64_t rhythm = given.whole("linear_attention_freq", 1);
  std::vector<LayerKind> layers;
  for (int64_t i = 0; i < given.whole("num_layers"); ++i) {
    LayerKind kind{.mixer = latent ? Mixer::kLatentAttention : Mixer::kAttention};
    if (is_linear(given) && (i + 1) % rhythm != 0) kind.mixer = Mixer::kLinearAttention;
    if (experts && has_experts(given.find("moe_layer_freq"), i)) {
      kind.feed_forward = FeedForward::kExperts;
    }
    kind.windowed = windowed && i % 2 == 0;  // gpt-oss: the first, then every other
    layers.push_back(kind);
  }
  return layers;
}

mcore::Model::Positions positions_of(std::string_view word) {
  using Positions = mcore::Model::Positions;
  if (word == "none") return Positions::kNone;
  return word == "learned_absolute" ? Positions::kLearned : Positions::kRope;
}

mcore::Model model_from(const config::Architecture& architecture, const Assigned& given) {
  const config::BesideKnobs& beside = architecture.beside_knobs;
  const int64_t hidden = given.whole("hidden_size");
  mcore::Model model{.hidden = hidden,
                     .ffn = given.whole("ffn_hidden_size", 4 * hidden),
                     .attention = attention_of(given, beside.attention_kind, hidden),
                     .state = state_of(given, hidden)};
  model.experts = experts_of(given, model.ffn);
  model.mtp_layers = given.whole("mtp_num_layers");
  model.layers = uniform_layers(given, model.attention.window > 0);
  if (!beside.hybrid_pattern.empty()) {
    model.layers = hybrid_layers(beside.hybrid_pattern).value_or(model.layers);
  }
  model.vocab = beside.vocab_size.value_or(kAssumedVocab);
  model.vocab_divisible_by = beside.vocab_divisible_by.value_or(model.vocab_divisible_by);
  model.gated = given.truth("gated_linear_unit", false);
  model.rms_norm = given.word("normalization") == "RMSNorm";
  model.linear_bias = given.truth("add_bias_linear", true);
  model.qkv_bias = given.truth("add_qkv_bias", false);
  model.tied_embeddings = beside.tied_embeddings.value_or(true);
  model.positions = positions_of(beside.position_embedding);
  model.attention_dropout = model.hidden_dropout = 0;
  return model;
}

/// The sizes that a model cannot do without and the row leaves out.
std::vector<std::string> missing_sizes(const Assigned& given) {
  std::vector<std::string> needed = {"num_layers", "hidden_size", "num_attention_heads"};
  if (given.truth("multi_latent_attention", false)) needed.emplace_back("kv_lora_rank");
  std::erase_if(needed, [&](const std::string& knob) { return given.whole(knob) > 0; });
  return needed;
}

}  // namespace

std::optional<std::vector<LayerKind>> hybrid_layers(std::string_view pattern) {
  std::vector<LayerKind> layers;
  for (const char letter : pattern.substr(0, pattern.find('/'))) {
    switch (letter) {
      case '|':
        break;
      case 'M':
        layers.push_back({Mixer::kMamba, FeedForward::kNone});
        break;
      case '*':
        layers.push_back({Mixer::kAttention, FeedForward::kNone});
        break;
      case '-':
        layers.push_back({Mixer::kNone, FeedForward::kDense});
        break;
      case 'E':
        layers.push_back({Mixer::kNone, FeedForward::kExperts});
        break;
      default:
        return std::nullopt;
    }
  }
  return layers;
}

int64_t hybrid_mtp_layers(std::string_view pattern) {
  return std::count(pattern.begin(), pattern.end(), '/');
}

Checked<mcore::Model> model_of(const config::Architecture& architecture) {
  const Assigned given(architecture.assignments);
  Findings missing;
  if (const auto sizes = missing_sizes(given); !sizes.empty()) {
    missing.push_back({"architecture.incomplete",
                       fmt::format("an architecture must state its {}: {} does not",
                                   config::joined(sizes), architecture.name),
                       "give the model's config.json instead"});
  }
  if (contains(architecture.beside_knobs.attention_kind, "cross attention")) {
    missing.push_back(
        {"architecture.not-a-decoder",
         fmt::format("a model must be a decoder-only language model: {} is not", architecture.name),
         "name another"});
  }
  if (!missing.empty()) return Checked<mcore::Model>::reject(std::move(missing));
  Findings notes;
  if (!architecture.beside_knobs.vocab_size) {
    notes.push_back(
        {"architecture.vocabulary-assumed",
         fmt::format("{} states no vocabulary: {} is assumed", architecture.name, kAssumedVocab),
         "", Severity::kNote});
  }
  return Checked<mcore::Model>::accept(model_from(architecture, given), std::move(notes));
}

}  // namespace refrain::accuracy
