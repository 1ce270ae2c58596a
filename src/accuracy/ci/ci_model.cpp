#include "accuracy/ci/ci_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "accuracy/model_of.h"
#include "config/inputs/values/list_expression.h"

namespace refrain::accuracy {
namespace {

using mcore::Family;
using mcore::FeedForward;
using mcore::LayerKind;
using mcore::Mixer;

constexpr Range kSize{.most = 1 << 20};    // widths, heads, experts
constexpr Range kLayers{.most = 1 << 12};  // and 0 where it counts further ones
constexpr Range kCount{.least = 0, .most = 1 << 20};

/// Rows of the embedding before padding, by the tokenizer that the test scripts name.
struct Vocabulary {
  std::string_view tokenizer;
  int64_t size;
};
constexpr Vocabulary kVocabularies[] = {{"", 50257},  // GPT-2's merges
                                        {"GPT2BPETokenizer", 50257},
                                        {"Llama2Tokenizer", 32000},
                                        {"GPTSentencePieceTokenizer", 256000},
                                        {"TikTokenizer", 131072}};
/// BERT's cased word pieces with [CLS] and so on; the data was replaced by uncased ones in 2026. T5
/// adds 100 sentinels and two marks to the cased ones.
constexpr int64_t kCasedWordPieces = 28996, kUncasedWordPieces = 30522, kT5Additions = 102;

Family family_of(const RowReader& row) {
  if (row.text("case").starts_with("bert/")) return Family::kBert;
  if (row.text("case").starts_with("t5/") || row.given("encoder-num-layers")) return Family::kT5;
  return Family::kDecoder;
}

/// Recorded at every fifth step only.
bool is_sparse(RowReader& row) {
  const int64_t points = row.whole_or("num_points", 0, {.least = 0});
  const int64_t steps = row.whole_or("train-iters", 0, {.least = 0});
  return points > 0 && points * 3 < steps;
}

int64_t vocabulary_of(RowReader& row, Family family) {
  if (const auto stated = row.whole("vocab-size", {.most = 1 << 28})) return *stated;
  if (family == Family::kT5) return kCasedWordPieces + kT5Additions;
  if (family == Family::kBert) return is_sparse(row) ? kCasedWordPieces : kUncasedWordPieces;
  if (row.given("tiktoken-pattern")) return 131072;
  for (const Vocabulary& known : kVocabularies) {
    if (row.text("tokenizer-type") == known.tokenizer) return known.size;
  }
  row.complain("tokenizer-type", "one whose vocabulary is known, or vocab-size must be given");
  return 1;
}

mcore::AttentionSize attention_of(RowReader& row, int64_t hidden) {
  mcore::AttentionSize size{.num_heads = row.required("num-attention-heads", kSize)};
  size.num_query_groups = row.whole_or("num-query-groups", size.num_heads, kSize);
  size.head_dim = row.whole_or("kv-channels", std::max<int64_t>(1, hidden / size.num_heads), kSize);
  size.qk_norm = row.yes("qk-layernorm");
  if (!row.yes("multi-latent-attention")) return size;
  // Megatron-Core's MLATransformerConfig.
  size.q_lora_rank = row.whole_or("q-lora-rank", 0, kCount);
  size.kv_lora_rank = row.whole_or("kv-lora-rank", 512, kSize);
  size.qk_nope_dim = row.whole_or("qk-head-dim", 128, kSize);
  size.qk_rope_dim = row.whole_or("qk-pos-emb-head-dim", 64, kSize);
  size.v_dim = row.whole_or("v-head-dim", 128, kSize);
  return size;
}

mcore::StateSize state_of(RowReader& row, int64_t hidden) {
  mcore::StateSize size;
  size.head_dim = row.whole_or("mamba-head-dim", 64, kSize);
  size.num_heads = row.whole_or("mamba-num-heads", 2 * hidden / size.head_dim, kSize);
  size.state_dim = row.whole_or("mamba-state-dim", 128, kSize);
  size.num_groups = row.whole_or("mamba-num-groups", 8, kSize);
  return size;
}

std::string dispatcher_of(const RowReader& row) {
  const std::string_view type = row.text("moe-token-dispatcher-type");
  if (type != "flex") return std::string(type.empty() ? "allgather" : type);
  const std::string_view backend = row.text("moe-flex-dispatcher-backend");
  return std::string(backend.empty() ? "deepep" : backend);
}

mcore::ExpertSize experts_of(RowReader& row, int64_t ffn) {
  mcore::ExpertSize size{.num_experts = row.whole_or("num-experts", 0, kCount)};
  if (size.num_experts == 0) return size;
  size.topk = row.whole_or("moe-router-topk", 2, {.most = size.num_experts});
  size.ffn = row.whole_or("moe-ffn-hidden-size", ffn, kSize);
  size.shared_ffn = row.whole_or("moe-shared-expert-intermediate-size", 0, kCount);
  size.latent_dim = row.whole_or("moe-latent-size", 0, kCount);
  size.grouped_gemm = row.yes("moe-grouped-gemm");
  size.router_fp32 = row.text("moe-router-dtype").starts_with("fp32");
  size.dispatcher = dispatcher_of(row);
  constexpr std::string_view kKnown[] = {"allgather", "alltoall", "deepep", "hybridep"};
  if (std::find(std::begin(kKnown), std::end(kKnown), size.dispatcher) == std::end(kKnown)) {
    row.complain("moe-token-dispatcher-type", "allgather, alltoall or flex");
  }
  return size;
}

/// Which of the layers have experts: every n-th, or a flag a layer.
void place_experts(RowReader& row, std::vector<LayerKind>& layers) {
  const std::string_view text = row.text("moe-layer-freq");
  const auto frequency =
      config::evaluate_list_expression(text.empty() ? "1" : text, {"accuracy", text});
  if (!frequency.value)
    return row.complain("moe-layer-freq", "a number or a list such as [0]*3+[1]*11");
  const bool is_list = frequency.value->is_array();
  const auto rhythm = is_list ? 0 : std::max<int64_t>(1, frequency.value->get<int64_t>());
  if (is_list && frequency.value->size() != layers.size()) {
    return row.complain("moe-layer-freq",
                        fmt::format("a flag for each of {} layers", layers.size()));
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    const bool experts =
        is_list ? (*frequency.value)[i] != 0 : static_cast<int64_t>(i) % rhythm == 0;
    if (experts) layers[i].feed_forward = FeedForward::kExperts;
  }
}

std::string_view hybrid_column(const RowReader& row) {
  return row.given("hybrid-layer-pattern") ? "hybrid-layer-pattern" : "hybrid-override-pattern";
}

std::vector<LayerKind> layers_of(RowReader& row) {
  if (const std::string_view pattern = row.text(hybrid_column(row)); !pattern.empty()) {
    auto layers = hybrid_layers(pattern);
    if (layers && !layers->empty() && std::ssize(*layers) <= kLayers.most) return *layers;
    row.complain(hybrid_column(row), "made of M, *, -, E, and | and / between them");
    return {};
  }
  const std::string_view column = row.given("num-layers")           ? "num-layers"
                                  : row.given("decoder-num-layers") ? "decoder-num-layers"
                                                                    : "num-layers";
  const LayerKind kind{.mixer = row.yes("multi-latent-attention") ? Mixer::kLatentAttention
                                                                  : Mixer::kAttention};
  std::vector<LayerKind> layers(static_cast<size_t>(row.required(column, kLayers)), kind);
  if (row.given("num-experts")) place_experts(row, layers);
  return layers;
}

mcore::Model::Positions positions_of(RowReader& row) {
  using Positions = mcore::Model::Positions;
  const std::string_view word = row.text("position-embedding-type");
  if (word == "rope" || word == "yarn") return Positions::kRope;
  if (word == "none") return Positions::kNone;
  if (!word.empty() && word != "learned_absolute") {
    row.complain("position-embedding-type", "learned_absolute, rope, yarn or none");
  }
  return Positions::kLearned;
}

/// Megatron-LM's default: 4 times the hidden size, two thirds of it where the layer is gated.
int64_t default_ffn(int64_t hidden, bool gated) {
  return gated ? hidden * 8 / 3 / 64 * 64 : 4 * hidden;
}

}  // namespace

bool is_old_recording(RowReader& row) {
  return row.text("platform").find("dracooci") != std::string_view::npos || is_sparse(row);
}

mcore::Model read_ci_model(RowReader& row) {
  mcore::Model model{.family = family_of(row), .hidden = row.required("hidden-size", kSize)};
  model.layers = layers_of(row);
  model.encoder_layers = row.whole_or("encoder-num-layers", 0, {.least = 0, .most = kLayers.most});
  model.mtp_layers = row.whole_or("mtp-num-layers", hybrid_mtp_layers(row.text(hybrid_column(row))),
                                  {.least = 0, .most = kLayers.most});
  model.gated = row.yes("swiglu");
  model.ffn = row.whole_or("ffn-hidden-size", default_ffn(model.hidden, model.gated), kSize);
  model.attention = attention_of(row, model.hidden);
  model.state = state_of(row, model.hidden);
  model.experts = experts_of(row, model.ffn);
  model.vocab = vocabulary_of(row, model.family);
  model.vocab_divisible_by = row.whole_or("make-vocab-size-divisible-by", 128, kSize);
  model.positions = positions_of(row);
  const std::string_view positions = row.given("max-position-embeddings")
                                         ? "max-position-embeddings"
                                     : row.given("seq-length") ? "seq-length"
                                                               : "decoder-seq-length";
  model.max_positions = row.whole_or(positions, 0);
  model.rms_norm = row.text("normalization") == "RMSNorm";
  model.linear_bias = !row.yes("disable-bias-linear");
  model.qkv_bias = row.yes("add-qkv-bias");
  model.tied_embeddings = !row.yes("untie-embeddings-and-output-weights");
  model.attention_dropout = row.real("attention-dropout").value_or(model.attention_dropout);
  model.hidden_dropout = row.real("hidden-dropout").value_or(model.hidden_dropout);
  return model;
}

}  // namespace refrain::accuracy
