// Overlap of the experts' communication with another micro-batch's compute.
#include "config/rules/graph_words.h"
#include "config/rules/model/parts.h"

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
  return before({selective_with("recompute named modules instead", "layernorm")},
                overlap_off(k, s));
}

Complaint overlap_excludes(const Knobs& k, bool what, std::string_view told) {
  if (!overlaps(k) || !what) return {};
  return fmt::format("overlap_moe_expert_parallel_comm excludes {}", told);
}

constexpr Rule kOverlapRules[] = {
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
     .labels = "moe",
     .broken =
         [](const Knobs& k, const Context&) {
           return overlap_excludes(k, has(k.recompute_modules, "moe"),
                                   "moe among recompute_modules");
         },
     .remedies = [](const Knobs& k, const Context& s) -> std::vector<Remedy> {
       return before(
           {setting("drop moe", {{"recompute_modules", without(k.recompute_modules, "moe")},
                                 {"moe_layer_recompute", false}})},
           overlap_off(k, s));
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
     .labels = "expert_fc1",
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
     .remedies = graphs_off},
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
     .remedies = graphs_off},
};

}  // namespace

std::span<const Rule> overlap_rules() { return kOverlapRules; }

}  // namespace refrain::config
