// The head of TransformerConfig's checks: number formats, heads, and attention variants.
#include "config/rules/model/parts.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr DialectSet kOldGroups = until(kMcore_0_15_3);

int64_t groups_of(const Knobs& k) { return k.num_query_groups.value_or(k.num_attention_heads); }

bool divides(int64_t divisor, int64_t value) { return divisor != 0 && value % divisor == 0; }

/// Layers of one pipeline rank, the bound of the bf16 layers at either end.
int64_t layers_of_rank(const Knobs& k) {
  return k.pipeline_model_parallel_size > 0 ? k.num_layers / k.pipeline_model_parallel_size : 0;
}

Complaint bf16_layers(const Knobs& k, std::string_view knob, int64_t layers) {
  if (!is_told(k.fp8) || !k.first_last_layers_bf16) return {};
  if (layers >= 0 && layers <= layers_of_rank(k)) return {};
  return fmt::format("{} must be 0 to {}, the layers of a pipeline rank: {}", knob,
                     layers_of_rank(k), layers);
}

constexpr Rule kPrecisionRules[] = {
    {.id = "precision.residual-dtype",
     .dialects = since(kMcore_0_17_1),
     .outcome = kRewrite,
     .because = "A float32 residual stream is sent between pipeline ranks as float32.",
     .remedy = "pipeline_dtype=float32 says the same without a rewrite",
     .knobs = "pipeline_dtype fp32_residual_connection",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fp32_residual_connection || !k.pipeline_dtype || k.pipeline_dtype == "float32" ||
           k.pipeline_dtype == "float") {
         return {};
       }
       return fmt::format("pipeline_dtype becomes float32 with fp32_residual_connection: it was {}",
                          *k.pipeline_dtype);
     },
     .rewrite = [](Knobs& k, const Context&) { k.pipeline_dtype = "float32"; }},
    {.id = "precision.fp16-and-bf16",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "A run has one compute type.",
     .remedy = "fp16=false or bf16=false",
     .knobs = "fp16 bf16",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fp16 || !k.bf16) return {};
       return "fp16 and bf16 exclude each other: both are true";
     }},
    {.id = "model.heads-over-tensor",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Tensor-parallel ranks share the heads evenly.",
     .remedy = "a tensor-parallel size that divides the heads",
     .knobs = "num_attention_heads tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (divides(k.tensor_model_parallel_size, k.num_attention_heads)) return {};
       return fmt::format(
           "num_attention_heads must be a multiple of tensor_model_parallel_size: {} and {}",
           k.num_attention_heads, k.tensor_model_parallel_size);
     }},
    {.id = "model.no-heads",
     .dialects = kMcore,
     .outcome = kZeroDivisionError,
     .because = "The width of a head is the hidden size over the heads.",
     .remedy = "set num_attention_heads",
     .knobs = "num_attention_heads kv_channels",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.num_attention_heads != 0 || k.kv_channels) return {};
       return "num_attention_heads must be told where kv_channels is not: it is 0";
     }},
    {.id = "model.groups-over-tensor-old",
     .dialects = kOldGroups,
     .outcome = kValueError,
     .because = "Tensor-parallel ranks share the key/value heads evenly.",
     .remedy = "a tensor-parallel size that divides the key/value heads",
     .knobs = "num_query_groups tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (divides(k.tensor_model_parallel_size, groups_of(k))) return {};
       return fmt::format(
           "num_query_groups must be a multiple of tensor_model_parallel_size: {} and {}",
           groups_of(k), k.tensor_model_parallel_size);
     }},
    {.id = "model.groups-over-tensor",
     .dialects = since(kMcore_0_16_1),
     .outcome = kValueError,
     .because = "Tensor-parallel ranks share key/value heads, or several share one.",
     .remedy = "a tensor-parallel size that divides the key/value heads or is a multiple of them",
     .knobs = "num_query_groups tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const int64_t groups = groups_of(k), ranks = k.tensor_model_parallel_size;
       if (divides(ranks, groups) || divides(groups, ranks)) return {};
       return fmt::format(
           "num_query_groups must be a multiple or a divisor of tensor_model_parallel_size: {} "
           "and {}",
           groups, ranks);
     }},
    {.id = "model.delta-net-frequency",
     .dialects = DialectSet::range(kMcore_0_16_1, kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "It says which layers have the gated delta net.",
     .remedy = "linear_attention_freq=4",
     .knobs = "linear_attention_freq experimental_attention_variant",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.experimental_attention_variant != "gated_delta_net" || k.linear_attention_freq) {
         return {};
       }
       return "linear_attention_freq must be set for gated_delta_net: null";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("linear_attention_freq=4", {{"linear_attention_freq", 4}})};
     }},
    {.id = "model.delta-net-sizes",
     .dialects = DialectSet::range(kMcore_0_16_1, kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "The gated delta net needs all of its sizes.",
     .remedy = "leave the linear_* sizes at their defaults, or set all of them",
     .knobs = "linear_conv_kernel_dim linear_key_head_dim linear_value_head_dim "
              "linear_num_key_heads linear_num_value_heads experimental_attention_variant",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.experimental_attention_variant != "gated_delta_net") return {};
       if (k.linear_conv_kernel_dim && k.linear_key_head_dim && k.linear_value_head_dim &&
           k.linear_num_key_heads && k.linear_num_value_heads) {
         return {};
       }
       return "the sizes of gated_delta_net must all be set: one of them is null";
     }},
    {.id = "model.delta-net-heads",
     .dialects = DialectSet::range(kMcore_0_16_1, kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "Value heads share key heads, and ranks share both evenly.",
     .remedy = "value heads as a multiple of key heads, both multiples of the ranks",
     .knobs = "linear_num_key_heads linear_num_value_heads tensor_model_parallel_size "
              "context_parallel_size experimental_attention_variant",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (k.experimental_attention_variant != "gated_delta_net") return {};
       if (!k.linear_num_key_heads || !k.linear_num_value_heads) return {};
       const bool shares_context = s.dialect >= kMcore_0_18_2;
       const int64_t ranks =
           k.tensor_model_parallel_size * (shares_context ? k.context_parallel_size : 1);
       if (divides(*k.linear_num_key_heads, *k.linear_num_value_heads) &&
           divides(ranks, *k.linear_num_key_heads) && divides(ranks, *k.linear_num_value_heads)) {
         return {};
       }
       return fmt::format("key heads must divide value heads and ranks divide both: {}, {} and {}",
                          *k.linear_num_key_heads, *k.linear_num_value_heads, ranks);
     }},
    {.id = "model.delta-net-context",
     .dialects = DialectSet::range(kMcore_0_16_1, kMcore_0_17_1),
     .outcome = kAssertionError,
     .because = "The gated delta net of these releases cannot split the sequence.",
     .remedy = "context_parallel_size=1",
     .knobs = "context_parallel_size experimental_attention_variant",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.experimental_attention_variant != "gated_delta_net" || k.context_parallel_size == 1) {
         return {};
       }
       return fmt::format("context_parallel_size must be 1 with gated_delta_net: {}",
                          k.context_parallel_size);
     }},
    {.id = "model.dsa-bias",
     .dialects = DialectSet(kMcore_0_19_2),
     .outcome = kValueError,
     .because = "Sparse attention absorbs projections, which biases would keep apart.",
     .remedy = "add_bias_linear=false",
     .knobs = "add_bias_linear experimental_attention_variant",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.experimental_attention_variant != "dsa" || !k.add_bias_linear) return {};
       return "add_bias_linear must be false with dsa: it is true";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("add_bias_linear=false", {{"add_bias_linear", false}})};
     }},
    {.id = "precision.delayed-and-bf16-layers",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Delayed scaling has one context around all layers, so none can leave it.",
     .remedy = "another fp8_recipe, or first_last_layers_bf16=false",
     .knobs = "first_last_layers_bf16 fp8 fp8_recipe",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_told(k.fp8) || !k.first_last_layers_bf16 || k.fp8_recipe != "delayed") return {};
       return "first_last_layers_bf16 excludes fp8_recipe delayed";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("fp8_recipe=tensorwise", {{"fp8_recipe", "tensorwise"}}),
               setting("first_last_layers_bf16=false", {{"first_last_layers_bf16", false}})};
     }},
    {.id = "precision.bf16-layers-at-start",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "They must stand on the first rank.",
     .remedy = "0 to the layers of a rank",
     .knobs = "num_layers_at_start_in_bf16 num_layers pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       return bf16_layers(k, "num_layers_at_start_in_bf16", k.num_layers_at_start_in_bf16);
     }},
    {.id = "precision.bf16-layers-at-end",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "They must stand on the last rank.",
     .remedy = "0 to the layers of a rank",
     .knobs = "num_layers_at_end_in_bf16 num_layers pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       return bf16_layers(k, "num_layers_at_end_in_bf16", k.num_layers_at_end_in_bf16);
     }},
    {.id = "precision.mxfp8-params",
     .dialects = DialectSet(kMcore_0_12_3),
     .outcome = kValueError,
     .because = "This release cannot keep parameters in MXFP8.",
     .remedy = "fp8_param=false",
     .knobs = "fp8_param fp8_recipe fp8",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_told(k.fp8) || k.fp8_recipe != "mxfp8" || !k.fp8_param) return {};
       return "fp8_param must be false with fp8_recipe mxfp8: it is true";
     }},
    {.id = "precision.fp8-custom",
     .dialects = since(kMcore_0_16_1),
     .outcome = kValueError,
     .because = "A custom recipe is made by the factory that is named.",
     .remedy = "set fp8_quantizer_factory, or another fp8_recipe",
     .knobs = "fp8_recipe fp8_quantizer_factory fp8",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_told(k.fp8) || k.fp8_recipe != "custom" || is_told(k.fp8_quantizer_factory)) {
         return {};
       }
       return "fp8_recipe custom needs fp8_quantizer_factory: it is not set";
     }},
    {.id = "precision.fp8-params-alone",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "FP8 parameters belong to FP8 compute.",
     .remedy = "fp8_param=false, or set fp8",
     .knobs = "fp8_param fp8",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fp8_param || is_told(k.fp8)) return {};
       return "fp8_param needs fp8: it is not set";
     }},
    {.id = "precision.fp8-output-projection",
     .dialects = since(kMcore_0_18_2),
     .outcome = kValueError,
     .because = "The output projection has an MXFP8 kernel alone.",
     .remedy = "fp8_output_proj=false, or fp8 with fp8_recipe=mxfp8",
     .knobs = "fp8_output_proj fp8 fp8_recipe",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fp8_output_proj || (is_told(k.fp8) && k.fp8_recipe == "mxfp8")) return {};
       return "fp8_output_proj needs fp8 with fp8_recipe mxfp8";
     }},
    {.id = "precision.fp4-params-alone",
     .dialects = since(kMcore_0_15_3),
     .outcome = kValueError,
     .because = "FP4 parameters belong to FP4 compute.",
     .remedy = "fp4_param=false, or set fp4",
     .knobs = "fp4_param fp4",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.fp4_param || is_told(k.fp4)) return {};
       return "fp4_param needs fp4: it is not set";
     }},
    {.id = "precision.fp4-weight-shards",
     .dialects = DialectSet(kRefrain),
     .outcome = kValueError,
     .because = "Shards of FP4 weights are gathered as FP4; Megatron-LM's command line checks it.",
     .remedy = "fp4_param=true, or tensor_parallel_num_weight_shards=null",
     .knobs = "tensor_parallel_num_weight_shards expert_tensor_parallel_num_weight_shards fp4 "
              "fp4_param tensor_model_parallel_size expert_tensor_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!shards_weights(k) && !shards_expert_weights(k)) return {};
       if (!is_told(k.fp4) || k.fp4_param) return {};
       return fmt::format("weight shards with fp4 {} need fp4_param: it is false", *k.fp4);
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("fp4_param=true", {{"fp4_param", true}})};
     }},
    {.id = "precision.fp4-and-fp8",
     .dialects = since(kMcore_0_15_3),
     .outcome = kValueError,
     .because = "A GEMM has one format.",
     .remedy = "fp4=null or fp8=null",
     .knobs = "fp4 fp8",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_told(k.fp4) || !is_told(k.fp8)) return {};
       return fmt::format("fp4 and fp8 exclude each other: {} and {}", *k.fp4, *k.fp8);
     }},
    {.id = "precision.fp4-custom",
     .dialects = since(kMcore_0_16_1),
     .outcome = kValueError,
     .because = "A custom recipe is made by the factory that is named.",
     .remedy = "set fp4_quantizer_factory, or fp4_recipe=nvfp4",
     .knobs = "fp4_recipe fp4_quantizer_factory fp4",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!is_told(k.fp4) || k.fp4_recipe != "custom" || is_told(k.fp4_quantizer_factory)) {
         return {};
       }
       return "fp4_recipe custom needs fp4_quantizer_factory: it is not set";
     }},
};

}  // namespace

std::span<const Rule> precision_rules() { return kPrecisionRules; }

}  // namespace refrain::config
