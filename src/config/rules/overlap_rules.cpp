// The tail of TransformerConfig's checks: dispatch, overlap of expert communication, deferred
// weight gradients, and what multi-latent attention adds.
#include "config/rules/graph_words.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

constexpr DialectSet kOverlaps = since(kMcore_0_14_0);

bool overlaps(const Knobs& k) { return k.overlap_moe_expert_parallel_comm; }

std::vector<Remedy> overlap_off(const Knobs&, const Context&) {
  return {setting("overlap_moe_expert_parallel_comm=false",
                  {{"overlap_moe_expert_parallel_comm", false},
                   {"delay_wgrad_compute", false},
                   {"ep_overlap_early_attn_memory_release", false}}),
          setting("overlap_moe_expert_parallel_comm=false",
                  {{"overlap_moe_expert_parallel_comm", false}, {"delay_wgrad_compute", false}})};
}

/// Full recompute cannot be cut into the pieces that overlap; named modules can.
std::vector<Remedy> narrow_or_no_overlap(const Knobs& k, const Context& s) {
  std::vector<Remedy> remedies = {
      setting("recompute named modules instead", {{"recompute_granularity", "selective"},
                                                  {"recompute_method", nullptr},
                                                  {"recompute_num_layers", nullptr},
                                                  {"recompute_modules", {"layernorm"}}})};
  for (Remedy& remedy : overlap_off(k, s)) remedies.push_back(std::move(remedy));
  return remedies;
}

Complaint overlap_excludes(const Knobs& k, bool what, std::string_view told) {
  if (!overlaps(k) || !what) return {};
  return fmt::format("overlap_moe_expert_parallel_comm excludes {}", told);
}

constexpr Rule kRules[] = {
    {.id = "moe.variable-length",
     .dialects = kEverywhere - DialectSet(kRefrain),
     .outcome = kValueError,
     .because = "The allgather dispatcher gathers equal lengths.",
     .remedy = "moe_token_dispatcher_type=alltoall",
     .knobs = "moe_token_dispatcher_type variable_seq_lengths",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       const std::string& type = k.moe_token_dispatcher_type;
       const bool gathers =
           type == "allgather" || (type == "alltoall_seq" && s.dialect == kMcore_0_12_3);
       if (!gathers || !k.variable_seq_lengths) return {};
       return fmt::format("variable_seq_lengths excludes moe_token_dispatcher_type {}", type);
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("moe_token_dispatcher_type=alltoall",
                       {{"moe_token_dispatcher_type", "alltoall"}})};
     }},
    {.id = "overlap.needs-chunks",
     .dialects = kOverlaps,
     .outcome = kAssertionError,
     .because = "With pipeline ranks one chunk's communication overlaps with another's compute.",
     .remedy = "virtual_pipeline_model_parallel_size=2 or more",
     .knobs = "overlap_moe_expert_parallel_comm virtual_pipeline_model_parallel_size "
              "pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!overlaps(k) || k.pipeline_model_parallel_size <= 1 ||
           k.virtual_pipeline_model_parallel_size) {
         return {};
       }
       return fmt::format(
           "overlap_moe_expert_parallel_comm needs virtual_pipeline_model_parallel_size with "
           "pipeline size {}: null",
           k.pipeline_model_parallel_size);
     },
     .remedies = overlap_off},
    {.id = "overlap.needs-expert-parallel",
     .dialects = kOverlaps,
     .outcome = kAssertionError,
     .because = "Without expert parallelism there is nothing to overlap.",
     .remedy = "expert_model_parallel_size=2 or more",
     .knobs = "overlap_moe_expert_parallel_comm expert_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!overlaps(k) || k.expert_model_parallel_size > 1) return {};
       return fmt::format(
           "overlap_moe_expert_parallel_comm needs expert_model_parallel_size > 1: {}",
           k.expert_model_parallel_size);
     },
     .remedies = overlap_off},
    {.id = "overlap.dispatcher",
     .dialects = kOverlaps,
     .outcome = kAssertionError,
     .because = "Only these dispatchers run in pieces.",
     .remedy = "moe_token_dispatcher_type=alltoall or flex",
     .knobs = "overlap_moe_expert_parallel_comm moe_token_dispatcher_type",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const std::string& type = k.moe_token_dispatcher_type;
       return overlap_excludes(k, type != "alltoall" && type != "flex",
                               "moe_token_dispatcher_type " + type);
     },
     .remedies = overlap_off},
    {.id = "overlap.full-recompute",
     .dialects = kOverlaps,
     .outcome = kAssertionError,
     .because = "The overlapping schedule cuts layers into pieces, which no region may cross.",
     .remedy = "selective recompute of modules inside a piece, or no overlap",
     .knobs = "overlap_moe_expert_parallel_comm recompute_granularity",
     .broken =
         [](const Knobs& k, const Context&) {
           return overlap_excludes(k, full(k), "recompute_granularity full");
         },
     .remedies = narrow_or_no_overlap},
    {.id = "overlap.recompute-method",
     .dialects = kOverlaps,
     .outcome = kAssertionError,
     .because = "It belongs to full recompute, and is looked at also where nothing is recomputed.",
     .remedy = "recompute_method=null",
     .knobs = "overlap_moe_expert_parallel_comm recompute_method",
     .broken =
         [](const Knobs& k, const Context&) {
           return overlap_excludes(k, k.recompute_method.has_value(), "recompute_method");
         },
     .remedies = narrow_or_no_overlap},
    {.id = "overlap.recompute-num-layers",
     .dialects = kOverlaps,
     .outcome = kAssertionError,
     .because = "It belongs to full recompute, and is looked at also where nothing is recomputed.",
     .remedy = "recompute_num_layers=null",
     .knobs = "overlap_moe_expert_parallel_comm recompute_num_layers",
     .broken =
         [](const Knobs& k, const Context&) {
           return overlap_excludes(k, k.recompute_num_layers.has_value(), "recompute_num_layers");
         },
     .remedies = narrow_or_no_overlap},
    {.id = "overlap.recomputed-moe",
     .dialects = since(kMcore_0_17_1),
     .outcome = kAssertionError,
     .because = "An expert layer is cut into pieces, which its region would cross; the label is "
                "looked at also where nothing is recomputed.",
     .remedy = "drop moe from recompute_modules, or no overlap",
     .knobs = "overlap_moe_expert_parallel_comm recompute_modules",
     .broken =
         [](const Knobs& k, const Context&) {
           return overlap_excludes(k, has(k.recompute_modules, "moe"),
                                   "moe among recompute_modules");
         },
     .remedies = [](const Knobs& k, const Context& s) -> std::vector<Remedy> {
       std::vector<Remedy> remedies = overlap_off(k, s);
       remedies.insert(
           remedies.begin(),
           setting("drop moe", {{"recompute_modules", without(k.recompute_modules, "moe")},
                                {"moe_layer_recompute", false}}));
       return remedies;
     }},
    {.id = "overlap.precision",
     .dialects = kOverlaps,
     .outcome = kAssertionError,
     .because = "The schedule is built for half-precision models.",
     .remedy = "bf16=true",
     .knobs = "overlap_moe_expert_parallel_comm bf16 fp16",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!overlaps(k) || k.bf16 || k.fp16) return {};
       return "overlap_moe_expert_parallel_comm needs bf16 or fp16: both are false";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("bf16=true", {{"bf16", true}})};
     }},
    {.id = "overlap.shared-experts",
     .dialects = kOverlaps,
     .outcome = kAssertionError,
     .because = "Both hide the same communication.",
     .remedy = "moe_shared_expert_overlap=false",
     .knobs = "overlap_moe_expert_parallel_comm moe_shared_expert_overlap",
     .broken =
         [](const Knobs& k, const Context&) {
           return overlap_excludes(k, k.moe_shared_expert_overlap, "moe_shared_expert_overlap");
         },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("moe_shared_expert_overlap=false", {{"moe_shared_expert_overlap", false}})};
     }},
    {.id = "overlap.prediction-layers-old",
     .dialects = DialectSet::range(kMcore_0_14_0, kMcore_0_18_2),
     .outcome = kAssertionError,
     .because = "The schedule knows one prediction layer, or none at all.",
     .remedy = "mtp_num_layers=null or 1",
     .knobs = "overlap_moe_expert_parallel_comm mtp_num_layers",
     .broken =
         [](const Knobs& k, const Context&) {
           return overlap_excludes(k, k.mtp_num_layers.value_or(1) != 1,
                                   fmt::format("mtp_num_layers {}", k.mtp_num_layers.value_or(1)));
         }},
    {.id = "overlap.prediction-layers",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "The schedule knows one prediction layer.",
     .remedy = "mtp_num_layers=null, 0 or 1",
     .knobs = "overlap_moe_expert_parallel_comm mtp_num_layers",
     .broken =
         [](const Knobs& k, const Context&) {
           const int64_t layers = k.mtp_num_layers.value_or(0);
           return overlap_excludes(k, layers != 0 && layers != 1,
                                   fmt::format("mtp_num_layers {}", layers));
         }},
    {.id = "overlap.prediction-needs-pipeline",
     .dialects = DialectSet::range(kMcore_0_16_1, kMcore_0_17_1),
     .outcome = kAssertionError,
     .because = "In these releases the prediction layer stands on a rank of its own.",
     .remedy = "mtp_num_layers=null, or a pipeline",
     .knobs = "overlap_moe_expert_parallel_comm mtp_num_layers pipeline_model_parallel_size",
     .broken =
         [](const Knobs& k, const Context&) {
           return overlap_excludes(k, k.mtp_num_layers == 1 && k.pipeline_model_parallel_size <= 1,
                                   "mtp_num_layers 1 with pipeline_model_parallel_size 1");
         },
     .remedies = overlap_off},
    {.id = "overlap.ncclep-offload",
     .dialects = since(kMcore_0_19_2),
     .outcome = kAssertionError,
     .because = "Offload keeps the input that the overlap frees early.",
     .remedy = "drop expert_fc1 from offload_modules",
     .knobs = "overlap_moe_expert_parallel_comm moe_flex_dispatcher_backend offload_modules "
              "fine_grained_activation_offloading moe_token_dispatcher_type",
     .broken =
         [](const Knobs& k, const Context&) {
           return overlap_excludes(
               k,
               k.moe_token_dispatcher_type == "flex" && k.moe_flex_dispatcher_backend == "ncclep" &&
                   k.fine_grained_activation_offloading && has(k.offload_modules, "expert_fc1"),
               "offload of expert_fc1 under ncclep");
         },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("fine_grained_activation_offloading=false",
                       {{"fine_grained_activation_offloading", false}})};
     }},
    {.id = "overlap.graphs-old",
     .dialects = DialectSet::range(kMcore_0_16_1, kMcore_0_17_1),
     .outcome = kAssertionError,
     .because = "The pieces of a layer are captured one by one, by TransformerEngine.",
     .remedy = "cuda_graph_impl=none, or transformer_engine without moe and mlp",
     .knobs = "overlap_moe_expert_parallel_comm cuda_graph_impl cuda_graph_scope",
     .broken =
         [](const Knobs& k, const Context& s) {
           const bool fits =
               k.cuda_graph_impl == "none" || (k.cuda_graph_impl == "transformer_engine" &&
                                               !captures(k, s, "moe") && !captures(k, s, "mlp"));
           return overlap_excludes(k, !fits,
                                   "graphs but transformer_engine's, without moe and mlp");
         },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("no graphs", {{"cuda_graph_impl", "none"},
                                     {"enable_cuda_graph", false},
                                     {"external_cuda_graph", false}})};
     }},
    {.id = "overlap.graphs",
     .dialects = since(kMcore_0_18_2),
     .outcome = kAssertionError,
     .because = "The pieces of an expert layer cannot be in one graph.",
     .remedy = "do not capture moe and mlp",
     .knobs = "overlap_moe_expert_parallel_comm cuda_graph_impl cuda_graph_modules",
     .broken =
         [](const Knobs& k, const Context& s) {
           return overlap_excludes(k,
                                   k.cuda_graph_impl == "transformer_engine" &&
                                       (captures(k, s, "moe") || captures(k, s, "mlp")),
                                   "captured moe and mlp");
         },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("no graphs", {{"cuda_graph_impl", "none"},
                                     {"enable_cuda_graph", false},
                                     {"external_cuda_graph", false},
                                     {"inference_cuda_graph_scope", nullptr}})};
     }},
    {.id = "overlap.delayed-gradients",
     .dialects = kOverlaps,
     .outcome = kAssertionError,
     .because = "Weight gradients are delayed to fill the overlap.",
     .remedy = "delay_wgrad_compute=false, or overlap_moe_expert_parallel_comm=true",
     .knobs = "delay_wgrad_compute overlap_moe_expert_parallel_comm",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.delay_wgrad_compute || overlaps(k)) return {};
       return "delay_wgrad_compute needs overlap_moe_expert_parallel_comm: it is false";
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("delay_wgrad_compute=false", {{"delay_wgrad_compute", false}})};
     }},
    {.id = "overlap.delayed-gradients-need-te",
     .dialects = since(kMcore_0_16_1),
     .outcome = kAssertionError,
     .because = "Graphs that leave the weight gradients out came with TransformerEngine 2.10.0.",
     .remedy = "TransformerEngine 2.10.0 or later, or delay_wgrad_compute=false",
     .knobs = "delay_wgrad_compute cuda_graph_impl te_version",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.delay_wgrad_compute || k.cuda_graph_impl != "transformer_engine" ||
           s.te >= TeVersion{2, 10, 0}) {
         return {};
       }
       return fmt::format(
           "delay_wgrad_compute with transformer_engine graphs needs TransformerEngine 2.10.0: {}",
           k.te_version ? *k.te_version : "not installed");
     },
     .remedies = [](const Knobs&, const Context&) -> std::vector<Remedy> {
       return {setting("delay_wgrad_compute=false", {{"delay_wgrad_compute", false}})};
     }},
    {.id = "overlap.dispatch-and-overlap",
     .dialects = since(kMcore_0_18_2),
     .outcome = kAssertionError,
     .because = "Both move the dispatch's backward.",
     .remedy = "overlap_dispatch_backward_with_experts_wgrad=false",
     .knobs = "overlap_dispatch_backward_with_experts_wgrad overlap_moe_expert_parallel_comm",
     .broken =
         [](const Knobs& k, const Context&) {
           return overlap_excludes(k, k.overlap_dispatch_backward_with_experts_wgrad,
                                   "overlap_dispatch_backward_with_experts_wgrad");
         }},
    {.id = "overlap.dispatch-needs-te",
     .dialects = since(kMcore_0_18_2),
     .outcome = kAssertionError,
     .because = "Weight gradients apart from input gradients came with TransformerEngine 2.3.0.",
     .remedy = "TransformerEngine 2.3.0 or later",
     .knobs = "overlap_dispatch_backward_with_experts_wgrad te_version",
     .broken = [](const Knobs& k, const Context& s) -> Complaint {
       if (!k.overlap_dispatch_backward_with_experts_wgrad || s.te >= TeVersion{2, 3, 0}) return {};
       return fmt::format(
           "overlap_dispatch_backward_with_experts_wgrad needs TransformerEngine 2.3.0: {}",
           k.te_version ? *k.te_version : "not installed");
     }},
    {.id = "overlap.dispatch-and-delay",
     .dialects = since(kMcore_0_18_2),
     .outcome = kAssertionError,
     .because = "Each says when weight gradients are computed.",
     .remedy = "one of the two",
     .knobs = "overlap_dispatch_backward_with_experts_wgrad delay_wgrad_compute",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.overlap_dispatch_backward_with_experts_wgrad || !k.delay_wgrad_compute) return {};
       return "overlap_dispatch_backward_with_experts_wgrad excludes delay_wgrad_compute";
     }},
    {.id = "overlap.early-release",
     .dialects = since(kMcore_0_16_1),
     .outcome = kAssertionError,
     .because = "It moves attention's backward within the overlapping schedule.",
     .remedy = "ep_overlap_early_attn_memory_release=false",
     .knobs = "ep_overlap_early_attn_memory_release overlap_moe_expert_parallel_comm",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.ep_overlap_early_attn_memory_release || overlaps(k)) return {};
       return "ep_overlap_early_attn_memory_release needs overlap_moe_expert_parallel_comm";
     }},
    {.id = "layout.pipeline-size",
     .dialects = kEverywhere,
     .outcome = kAssertionError,
     .because = "There is at least one rank.",
     .remedy = "pipeline_model_parallel_size=1",
     .knobs = "pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.pipeline_model_parallel_size > 0) return {};
       return fmt::format("pipeline_model_parallel_size must be 1 or more: {}",
                          k.pipeline_model_parallel_size);
     }},
    {.id = "mla.fused-rope",
     .dialects = since(kMcore_0_13_1),
     .outcome = kValueError,
     .because = "MLA's fused kernel is YaRN's.",
     .remedy = "apply_rope_fusion=false, or rope_type=yarn",
     .knobs = "apply_rope_fusion rope_type multi_latent_attention",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.multi_latent_attention || !k.apply_rope_fusion || k.rope_type == "yarn") return {};
       return fmt::format("apply_rope_fusion with MLA needs rope_type yarn: {}", k.rope_type);
     }},
    {.id = "mla.output-gate",
     .dialects = since(kMcore_0_16_1),
     .outcome = kNotImplementedError,
     .because = "MLA has no gate yet.",
     .remedy = "attention_output_gate=false",
     .knobs = "attention_output_gate multi_latent_attention",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.multi_latent_attention || !k.attention_output_gate) return {};
       return "multi_latent_attention excludes attention_output_gate: both are true";
     }},
    {.id = "mla.cached-latents",
     .dialects = since(kMcore_0_14_0),
     .outcome = kAssertionError,
     .because = "Cached latents are rotated later.",
     .remedy = "apply_rope_fusion=false",
     .knobs = "cache_mla_latents apply_rope_fusion multi_latent_attention",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.multi_latent_attention || !k.cache_mla_latents || !k.apply_rope_fusion) return {};
       return "cache_mla_latents excludes apply_rope_fusion: both are true";
     }},
};

}  // namespace

std::span<const Rule> overlap_rules() { return kRules; }

}  // namespace refrain::config
