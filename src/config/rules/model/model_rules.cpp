// What TransformerConfig checks between the pipeline layout and the CUDA graphs: activations,
// fusions, and what experts need under FP8.
#include "config/rules/model/parts.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr DialectSet kClasses = kEverywhere - DialectSet(kRefrain);

bool pads_routing(const Knobs& k) {
  return k.moe_router_padding_for_fp8 || k.moe_router_padding_for_quantization;
}

constexpr Rule kModelRules[] = {
    {.id = "model.fused-activation",
     .dialects = kClasses,
     .outcome = kValueError,
     .because = "Only these activations have a kernel with bias.",
     .remedy = "bias_activation_fusion=false",
     .knobs = "bias_activation_fusion activation_func",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const std::string& f = k.activation_func;
       if (!k.bias_activation_fusion || f == "gelu" || f == "silu") return {};
       if (f == "quick_gelu" && s.dialect >= kMcore_0_15_3) return {};
       return fmt::format("bias_activation_fusion needs activation_func gelu or silu: {}", f);
     }},
    {.id = "model.fused-gelu-bias",
     .dialects = kClasses,
     .outcome = kValueError,
     .because = "The kernel adds the bias that GELU follows.",
     .remedy = "bias_activation_fusion=false, or add_bias_linear=true",
     .knobs = "bias_activation_fusion activation_func gated_linear_unit add_bias_linear",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.bias_activation_fusion || k.activation_func != "gelu" || k.gated_linear_unit ||
           k.add_bias_linear) {
         return {};
       }
       return "bias_activation_fusion of plain gelu needs add_bias_linear: it is false";
     }},
    {.id = "model.two-fused-activations",
     .dialects = since(kMcore_0_15_3),
     .outcome = kValueError,
     .because = "The activation has one kernel.",
     .remedy = "use_te_activation_func=false",
     .knobs = "bias_activation_fusion use_te_activation_func",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.bias_activation_fusion || !k.use_te_activation_func) return {};
       return "bias_activation_fusion excludes use_te_activation_func: both are true";
     }},
    {.id = "model.fused-residual-norm",
     .dialects = since(kMcore_0_17_1),
     .outcome = kValueError,
     .because = "The kernel is RMSNorm's.",
     .remedy = "normalization=RMSNorm",
     .knobs = "fused_residual_rmsnorm normalization",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fused_residual_rmsnorm || k.normalization == "RMSNorm") return {};
       return fmt::format("fused_residual_rmsnorm needs normalization RMSNorm: {}",
                          k.normalization);
     }},
    {.id = "model.te-activation",
     .dialects = since(kMcore_0_15_3),
     .outcome = kValueError,
     .because = "TransformerEngine has these activations alone.",
     .remedy = "use_te_activation_func=false",
     .knobs = "use_te_activation_func activation_func",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const std::string& f = k.activation_func;
       if (!k.use_te_activation_func || f == "gelu" || f == "silu" || f == "relu") return {};
       return fmt::format("use_te_activation_func needs gelu, silu or relu: {}", f);
     }},
    {.id = "precision.fp8-activation-input",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "The activation's input is stored in FP8 by SwiGLU's kernel alone.",
     .remedy = "activation_func_fp8_input_store=false, or SwiGLU",
     .knobs = "activation_func_fp8_input_store activation_func gated_linear_unit",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.activation_func_fp8_input_store ||
           (k.activation_func == "silu" && k.gated_linear_unit)) {
         return {};
       }
       return "activation_func_fp8_input_store needs silu with gated_linear_unit";
     }},
    {.id = "model.gated-single-rope",
     .dialects = since(kMcore_0_16_1),
     .outcome = kValueError,
     .because = "The joint kernel does not know of the gate.",
     .remedy = "fused_single_qkv_rope=false",
     .knobs = "fused_single_qkv_rope attention_output_gate",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fused_single_qkv_rope || !k.attention_output_gate) return {};
       return "fused_single_qkv_rope excludes attention_output_gate: both are true";
     }},
    {.id = "model.interleaved-mla",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "MLA turns halves of channels.",
     .remedy = "rotary_interleaved=false",
     .knobs = "rotary_interleaved multi_latent_attention",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.rotary_interleaved || !k.multi_latent_attention) return {};
       return "rotary_interleaved excludes multi_latent_attention: both are true";
     }},
    {.id = "moe.bias",
     .dialects = kClasses,
     .outcome = kAssertionError,
     .because = "Experts that are split over ranks would each add the bias.",
     .remedy = "add_bias_linear=false",
     .knobs = "add_bias_linear num_moe_experts expert_tensor_parallel_size "
              "tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.num_moe_experts || !k.add_bias_linear) return {};
       const int64_t ranks = k.expert_tensor_parallel_size.value_or(k.tensor_model_parallel_size);
       if (s.dialect >= kMcore_0_15_3 && ranks == 1) return {};
       return "add_bias_linear must be false with experts: it is true";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("add_bias_linear=false", {{"add_bias_linear", false}})};
     }},
    {.id = "moe.expert-bias-scores",
     .dialects = kClasses,
     .outcome = kValueError,
     .because = "The bias is added to scores that do not sum to one.",
     .remedy = "moe_router_score_function=sigmoid",
     .knobs = "moe_router_enable_expert_bias moe_router_score_function",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const std::string& f = k.moe_router_score_function;
       if (!k.moe_router_enable_expert_bias || f == "sigmoid") return {};
       if (f == "sqrtsoftplus" && s.dialect >= kMcore_0_18_2) return {};
       return fmt::format("moe_router_enable_expert_bias needs a sigmoid score: {}", f);
     }},
    {.id = "moe.fp8-needs-te",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Earlier versions fail on an expert that gets no token.",
     .remedy = "TransformerEngine 1.7.0 or later, or fp8=null",
     .knobs = "num_moe_experts fp8 te_version",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.num_moe_experts.value_or(0) == 0 || !is_told(k.fp8) || s.te >= TeVersion{1, 7, 0}) {
         return {};
       }
       return fmt::format("experts with fp8 need TransformerEngine 1.7.0: it is {}", te_text(k));
     }},
    {.id = "moe.fp8-grouped-needs-te",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Grouped GEMMs in FP8 came with 1.11.0.",
     .remedy = "TransformerEngine 1.11.0 or later, or fp8=null",
     .knobs = "num_moe_experts fp8 moe_grouped_gemm te_version",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.num_moe_experts.value_or(0) == 0 || !is_told(k.fp8) || !k.moe_grouped_gemm ||
           s.te < TeVersion{1, 7, 0} || s.te >= TeVersion{1, 11, 0}) {
         return {};
       }
       return fmt::format("moe_grouped_gemm with fp8 needs TransformerEngine 1.11.0: it is {}",
                          te_text(k));
     }},
    {.id = "moe.padding-needs-format",
     .dialects = since(kMcore_0_13_1),
     .outcome = kValueError,
     .because = "Token counts are padded for what quantised GEMMs can multiply.",
     .remedy = "moe_router_padding_for_quantization=false, or set fp8",
     .knobs = "moe_router_padding_for_fp8 moe_router_padding_for_quantization fp8 fp4",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!pads_routing(k) || k.fp8 || (k.fp4 && s.dialect >= kMcore_0_16_1)) return {};
       return "padding of the router's counts needs fp8 or fp4: neither is set";
     }},
    {.id = "moe.padding-dispatcher",
     .dialects = since(kMcore_0_13_1),
     .outcome = kValueError,
     .because = "The allgather dispatcher does not pad.",
     .remedy = "moe_token_dispatcher_type=alltoall",
     .knobs = "moe_router_padding_for_fp8 moe_router_padding_for_quantization "
              "moe_token_dispatcher_type",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!pads_routing(k) || k.moe_token_dispatcher_type != "allgather") return {};
       return "padding of the router's counts excludes moe_token_dispatcher_type allgather";
     }},
    {.id = "moe.one-expert-a-token",
     .dialects = kClasses,
     .outcome = kValueError,
     .because = "A softmax over one choice has no gradient.",
     .remedy = "moe_router_pre_softmax=true",
     .knobs = "moe_router_topk moe_router_score_function moe_router_pre_softmax "
              "moe_router_load_balancing_type",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.moe_router_topk != 1 || k.moe_router_score_function != "softmax" ||
           k.moe_router_pre_softmax || k.moe_router_load_balancing_type == "sinkhorn") {
         return {};
       }
       return "moe_router_topk 1 needs moe_router_pre_softmax: it is false";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("moe_router_pre_softmax=true", {{"moe_router_pre_softmax", true}})};
     }},
};

}  // namespace

std::span<const Rule> model_rules() { return kModelRules; }

}  // namespace refrain::config
