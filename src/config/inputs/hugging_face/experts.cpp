// Fields: the configuration and modeling files of Mixtral, Qwen2-MoE, Qwen3-MoE, DeepSeek-V3, GLM-4
// MoE and GPT-OSS in the transformers library; knobs: Megatron-Core's TransformerConfig.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "config/inputs/hugging_face/knob_import.h"

namespace refrain::config {
namespace {

/// The field of the experts' number: newer releases write it under another type's name.
std::string count_field(const KnobImport& in) {
  const std::string own(in.type.experts.count);
  for (const std::string& field :
       {own, std::string("num_experts"), std::string("num_local_experts"),
        std::string("n_routed_experts")}) {
    if (!in.read.absent(field)) return field;
  }
  return own;
}

void set_shared_experts(int64_t width, KnobImport& in) {
  int64_t total = 0;
  switch (in.type.experts.shared) {
    case HfSharedExperts::kNone:
      return;
    case HfSharedExperts::kWidth:
      total = in.read.count("shared_expert_intermediate_size", 0);
      break;
    case HfSharedExperts::kCount:
      total = in.read.count("n_shared_experts", 0) * width;  // both within 31 bits
      break;
  }
  if (total > 0) in.set("moe_shared_expert_intermediate_size", total);
}

/// One flag a layer, 1 for those with experts; none where the number of layers is wrong.
std::vector<int64_t> expert_layers(KnobImport& in) {
  std::vector<int64_t> flags(in.read.failed() ? 0 : static_cast<size_t>(in.model.num_layers), 1);
  const auto keep = [&](auto has_experts) {
    for (size_t i = 0; i < flags.size(); ++i) flags[i] = has_experts(static_cast<int64_t>(i));
  };
  if (in.type.experts.layers == HfExpertLayers::kSparseStep) {
    const int64_t step = in.read.size("decoder_sparse_step", 1);
    const std::vector<int64_t> dense = in.read.whole_numbers("mlp_only_layers");
    keep([&](int64_t layer) {
      return (layer + 1) % step == 0 && std::find(dense.begin(), dense.end(), layer) == dense.end();
    });
  } else if (in.type.experts.layers == HfExpertLayers::kAfterDense) {
    const int64_t first = in.read.count("first_k_dense_replace", 0);
    const int64_t step = in.read.size("moe_layer_freq", 1);
    keep([&](int64_t layer) { return layer >= first && layer % step == 0; });
  }
  return flags;
}

void set_layers(KnobImport& in) {
  const std::vector<int64_t> flags = expert_layers(in);
  const bool all = std::find(flags.begin(), flags.end(), 0) == flags.end();
  in.set("moe_layer_freq", all ? Value(1) : Value(flags));
}

void set_router(KnobImport& in) {
  in.set("moe_router_topk", in.read.size("num_experts_per_tok"));
  const bool by_sigmoid = in.type.experts.sigmoid;
  const std::string scores = in.read.text("scoring_func", by_sigmoid ? "sigmoid" : "softmax");
  if (scores != "sigmoid" && scores != "softmax") {
    in.read.complain(unsupported_field("scoring_func", Value(scores),
                                       "router scores other than softmax and sigmoid"));
  }
  in.set("moe_router_score_function", scores);
  // Softmax over all experts, unless the chosen ones are normalized again: then it is the same as
  // softmax over those.
  const bool normalized = in.read.flag("norm_topk_prob", in.type.experts.normalized);
  in.set("moe_router_pre_softmax", scores == "softmax" && !normalized);
  const std::string method = in.read.text("topk_method", by_sigmoid ? "noaux_tc" : "greedy");
  in.set("moe_router_enable_expert_bias", method == "noaux_tc");
  if (const double jitter = in.read.fraction("router_jitter_noise", 0); jitter > 0) {
    in.set("moe_input_jitter_eps", jitter);
  }
}

}  // namespace

void set_experts(KnobImport& in) {
  if (in.type.experts.count.empty()) return;
  in.set("num_moe_experts", in.read.size(count_field(in)));
  const int64_t width = in.read.size(std::string(in.type.experts.width));
  in.set("moe_ffn_hidden_size", width);
  set_shared_experts(width, in);
  set_layers(in);
  set_router(in);
}

}  // namespace refrain::config
