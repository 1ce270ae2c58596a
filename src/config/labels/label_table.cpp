#include "config/labels/label_table.h"

namespace refrain::config {
namespace {

using enum LabelList;

constexpr std::string_view kExperts = "Mixture-of-Experts layers";
constexpr std::string_view kProducts = "gated delta-product layers";

constexpr ModuleLabel kTable[] = {
    {.list = kRecompute,
     .name = "core_attn",
     .since = "0.12.3",
     .meaning = "scores, softmax and context of attention",
     .kept = "query, key and value behind RoPE, the mask, and the output",
     .replayed = "core attention, without the projections around it",
     .freed = "scores and probabilities; a fused kernel keeps none, so next to nothing"},
    {.list = kRecompute,
     .name = "layernorm",
     .since = "0.12.3",
     .meaning = "outputs of both norms of a layer",
     .kept = "the residual stream, which is kept anyway",
     .replayed = "the norm, before the backward of the module behind it",
     .freed = "the norms' outputs"},
    {.list = kRecompute,
     .name = "mlp",
     .since = "0.12.3",
     .meaning = "everything between the MLP's input and its output",
     .kept = "the MLP's input: the norm's output, or the residual stream where the norm is fused",
     .replayed = "the whole dense MLP, before its own backward",
     .freed = "what both GEMMs and the activation save"},
    {.list = kRecompute,
     .name = "moe",
     .since = "0.12.3",
     .needs = kExperts,
     .meaning = "a whole expert layer: router, dispatch, experts and combine",
     .kept = "the expert layer's input: the norm's output",
     .replayed = "the whole expert layer, its all-to-alls included, before its own backward",
     .freed = "what router, dispatch and experts save"},
    {.list = kRecompute,
     .name = "moe_act",
     .since = "0.12.3",
     .needs = kExperts,
     .meaning = "the experts' activation, between their two GEMMs",
     .kept = "the first GEMM's output, the bias and the routing probabilities",
     .replayed = "bias and activation, before the second GEMM's backward",
     .freed = "the activation's output"},
    {.list = kRecompute,
     .name = "mla_up_proj",
     .since = "0.12.3",
     .needs = "multi-latent attention",
     .meaning = "query, key and value as MLA's up-projections and RoPE make them",
     .kept = "the latents of query and key/value, and the positional key",
     .replayed = "up-projections, RoPE and concatenation, before core attention's backward",
     .freed = "query, key and value"},
    {.list = kRecompute,
     .name = "shared_experts",
     .since = "0.14.0",
     .needs = kExperts,
     .meaning = "the MLP of the shared experts",
     .kept = "the shared experts' input: the norm's output",
     .replayed = "the shared experts and their gate, before their own backward",
     .freed = "what their GEMMs and activation save"},
    {.list = kRecompute,
     .name = "gdn_norm_out",
     .since = "0.19.2",
     .needs = "gated delta-net layers",
     .meaning = "the gated norm behind the delta rule",
     .kept = "the delta rule's output and the gate",
     .replayed = "norm, transposition and, with context parallelism, the all-to-all, before the "
                 "output projection's backward",
     .freed = "the output projection's input"},
    {.list = kRecompute,
     .name = "mhc",
     .since = kMegatronMain,
     .needs = "hyper-connections",
     .meaning = "what hyper-connections do around attention and MLP, and the norms between",
     .kept = "the streams where a block of layers begins, and the coefficients that mix them",
     .replayed = "everything of a block in forward order, when backward reaches its last layer",
     .freed = "aggregated streams, norm outputs and mixed residuals inside a block"},
    {.list = kRecompute,
     .name = "gdp_in_proj",
     .since = kMegatronMain,
     .needs = kProducts,
     .meaning = "the delta product's input projection",
     .kept = "the projection's input",
     .replayed = "projection, gather over context-parallel ranks and split, when the mixer's "
                 "backward begins",
     .freed = "the projection's output, in all of its three parts"},
    {.list = kRecompute,
     .name = "gdp_qkv",
     .since = kMegatronMain,
     .needs = kProducts,
     .meaning = "the delta product's causal convolution and the query, key and value from it",
     .kept = "the convolution's input",
     .replayed = "convolution and preparation, before the backward of the product itself",
     .freed = "query, key and value"},
    {.list = kRecompute,
     .name = "pointwise",
     .since = kRefrainAlone,
     .meaning = "all that comes back without a GEMM or attention",
     .kept = "the outputs of GEMMs and attention, and the residual stream",
     .replayed = "norms and activations, each before the first backward that reads it",
     .freed = "norm outputs and the activation's output"},

    {.list = kOffload,
     .name = "attn_norm",
     .since = "0.16.1",
     .meaning = "the norm in front of attention",
     .freed = "the norm's input, the residual stream"},
    {.list = kOffload,
     .name = "qkv_linear",
     .since = "0.16.1",
     .meaning = "the projection to query, key and value, or MLA's down-projections",
     .freed = "the projection's input"},
    {.list = kOffload,
     .name = "core_attn",
     .since = "0.16.1",
     .meaning = "scores, softmax and context of attention",
     .freed = "query, key and value, and what the kernel saves"},
    {.list = kOffload,
     .name = "attn_proj",
     .since = "0.16.1",
     .meaning = "attention's output projection",
     .freed = "the projection's input: core attention's output"},
    {.list = kOffload,
     .name = "mlp_norm",
     .since = "0.16.1",
     .meaning = "the norm in front of the MLP or of the experts",
     .freed = "the norm's input, the residual stream"},
    {.list = kOffload,
     .name = "expert_fc1",
     .since = "0.16.1",
     .needs = kExperts,
     .meaning = "the experts' first GEMM",
     .freed = "its input: the tokens as they were dispatched"},
    {.list = kOffload,
     .name = "moe_act",
     .since = "0.16.1",
     .needs = kExperts,
     .meaning = "the experts' activation, between their two GEMMs",
     .freed = "its input: the first GEMM's output"},
    {.list = kOffload,
     .name = "fused_group_mlp",
     .since = "0.19.2",
     .needs = kExperts,
     .meaning = "the experts as one fused operation",
     .freed = "its input, the tokens as they were dispatched, and what it saves inside"},
    {.list = kOffload,
     .name = "gdp_qkv",
     .since = kMegatronMain,
     .needs = kProducts,
     .meaning = "the delta product's causal convolution and the query, key and value from it",
     .freed = "the convolution's input"},
};

}  // namespace

std::string_view to_text(LabelList list) {
  return list == kRecompute ? "recompute_modules" : "offload_modules";
}

std::span<const ModuleLabel> label_table() { return kTable; }

const ModuleLabel* find_label(LabelList list, std::string_view name) {
  for (const ModuleLabel& label : kTable) {
    if (label.list == list && label.name == name) return &label;
  }
  return nullptr;
}

bool is_inside_experts(const ModuleLabel& label) {
  return label.list == kOffload && label.needs == kExperts;
}

}  // namespace refrain::config
