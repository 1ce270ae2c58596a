// Hyper-connections: several residual streams, their recompute, and what they exclude.
#include "config/rules/recompute/parts.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr Rule kStreamRules[] = {
    {.id = "mhc.needs-connections",
     .dialects = kOurs,
     .outcome = kValueError,
     .because = "Only hyper-connections have what mhc recomputes.",
     .remedy = "enable_mhc_connections=true, or drop mhc",
     .knobs = "recompute_modules enable_mhc_connections",
     .labels = "mhc",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "mhc") || k.enable_mhc_connections) return {};
       return "mhc needs enable_mhc_connections: it is false";
     },
     .remedies = [](const Knobs& k, const Context&) { return drop_label(k, "mhc"); }},
    {.id = "mhc.and-mlp",
     .dialects = kOurs,
     .outcome = kValueError,
     .because = "Both would recompute the same part of a layer.",
     .remedy = "drop mlp or mhc",
     .knobs = "recompute_modules",
     .labels = "mhc mlp",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "mhc") || !recomputes(k, "mlp")) return {};
       return "mhc excludes mlp";
     },
     .remedies = [](const Knobs& k, const Context&) { return drop_label(k, "mlp"); }},
    {.id = "mhc.block-size",
     .dialects = kOurs,
     .outcome = kValueError,
     .because = "It counts layers.",
     .remedy = "mhc_recompute_layer_num=null for one block a chunk",
     .knobs = "mhc_recompute_layer_num recompute_modules",
     .labels = "mhc",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "mhc") || k.mhc_recompute_layer_num.value_or(1) >= 1) return {};
       return fmt::format("mhc_recompute_layer_num must be 1 or more: {}",
                          *k.mhc_recompute_layer_num);
     }},
    {.id = "mhc.and-offload",
     .dialects = kOurs,
     .outcome = kNotImplementedError,
     .because = "Their hooks on saved tensors do not know of each other.",
     .remedy = "fine_grained_activation_offloading=false, or drop mhc",
     .knobs = "recompute_modules fine_grained_activation_offloading",
     .labels = "mhc",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!recomputes(k, "mhc") || !k.fine_grained_activation_offloading) return {};
       return "mhc excludes fine_grained_activation_offloading";
     }},
    {.id = "mhc.not-recomputed",
     .dialects = kOurs,
     .outcome = kNote,
     .because =
         "Hyper-connections keep several streams a layer, which mhc recomputes; Megatron-Core "
         "warns where it does not.",
     .remedy = "recompute_granularity=selective with mhc",
     .knobs = "enable_mhc_connections recompute_granularity recompute_modules",
     .labels = "mhc",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_mhc_connections || full(k) || recomputes(k, "mhc")) return {};
       return "enable_mhc_connections without mhc among recompute_modules keeps every stream";
     }},
    {.id = "mhc.and-multi-token-prediction",
     .dialects = kOurs,
     .outcome = kValueError,
     .because = "Prediction heads read one residual stream.",
     .remedy = "mtp_num_layers=null",
     .knobs = "enable_mhc_connections mtp_num_layers",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_mhc_connections || !k.mtp_num_layers) return {};
       return fmt::format("enable_mhc_connections excludes mtp_num_layers: {}", *k.mtp_num_layers);
     }},
    {.id = "mhc.and-full",
     .dialects = kOurs,
     .outcome = kNotImplementedError,
     .because = "A layer of several streams has no single input to start from.",
     .remedy = "selective with mhc",
     .knobs = "enable_mhc_connections recompute_granularity",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_mhc_connections || !full(k)) return {};
       return "enable_mhc_connections excludes recompute_granularity full";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {selective_with("selective with mhc", "mhc")};
     }},
    {.id = "mhc.and-pipeline",
     .dialects = kOurs,
     .outcome = kNotImplementedError,
     .because = "Pipeline ranks send one stream.",
     .remedy = "pipeline_model_parallel_size=1",
     .knobs = "enable_mhc_connections pipeline_model_parallel_size fp32_residual_connection",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.enable_mhc_connections) return {};
       if (k.pipeline_model_parallel_size <= 1 && !k.fp32_residual_connection) return {};
       return "enable_mhc_connections excludes pipeline ranks and a float32 residual stream";
     }},
};

}  // namespace

std::span<const Rule> stream_rules() { return kStreamRules; }

}  // namespace refrain::config
