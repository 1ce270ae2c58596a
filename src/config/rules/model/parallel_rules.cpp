// What ModelParallelConfig checks: sizes of the mesh and what overlaps on it.
#include "config/rules/model/parts.h"

namespace refrain::config {
namespace {

using enum Dialect;
using enum Outcome;

bool shards_do_not_fit(const std::optional<int64_t>& shards, int64_t ranks) {
  return shards && (ranks < 1 || *shards < ranks || *shards % ranks != 0);
}

/// What pipeline ranks send where nobody says: the parameters' type, or a float32 stream's.
std::string sent_dtype(const Knobs& k) {
  if (k.fp32_residual_connection) return "float32";
  return k.bf16 ? "bfloat16" : k.fp16 ? "float16" : "float32";
}

/// Experts and tensors are split over ranks, sequences are not.
bool splits_all_but_the_sequence(const Knobs& k) {
  return k.expert_model_parallel_size > 1 && k.tensor_model_parallel_size > 1 &&
         !k.sequence_parallel;
}

std::vector<Remedy> split_the_sequence(const Knobs&, const Context&) {
  return {setting("sequence_parallel=true", {{"sequence_parallel", true}})};
}

constexpr Rule kParallelRules[] = {
    {.id = "parallel.sequence-needs-tensor",
     .dialects = kMcore,
     .outcome = kValueError,
     .because = "Sequence parallelism splits over the tensor-parallel ranks: with one there is "
                "nothing to split.",
     .remedy = "sequence_parallel=false, or a tensor-parallel size of 2 or more",
     .knobs = "sequence_parallel tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.sequence_parallel || k.tensor_model_parallel_size > 1) return {};
       return fmt::format("sequence_parallel needs tensor_model_parallel_size > 1: it is {}",
                          k.tensor_model_parallel_size);
     }},
    {.id = "parallel.sequence-dropped",
     .dialects = since(kBridge),
     .outcome = kRewrite,
     .because = "With one tensor-parallel rank Megatron-LM's command line and Megatron-Bridge turn "
                "sequence parallelism off without an error.",
     .remedy = "drop sequence_parallel, or raise the tensor-parallel size",
     .knobs = "sequence_parallel tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.sequence_parallel || k.tensor_model_parallel_size > 1) return {};
       return fmt::format("sequence_parallel becomes false: tensor_model_parallel_size is {}",
                          k.tensor_model_parallel_size);
     },
     .rewrite = [](Knobs& k, const Context&) { k.sequence_parallel = false; }},
    {.id = "parallel.expert-tensor-default",
     .dialects = DialectSet(kBridge),
     .outcome = kRewrite,
     .because = "Megatron-Bridge splits experts over expert ranks alone where nothing is said; "
                "Megatron-Core would split each over the tensor-parallel ranks as well.",
     .remedy = "set expert_tensor_parallel_size",
     .knobs = "expert_tensor_parallel_size expert_model_parallel_size tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.expert_tensor_parallel_size || k.expert_model_parallel_size <= 1 ||
           k.tensor_model_parallel_size <= 1) {
         return {};
       }
       return fmt::format("expert_tensor_parallel_size becomes 1, not {}: it is not set",
                          k.tensor_model_parallel_size);
     },
     .rewrite = [](Knobs& k, const Context&) { k.expert_tensor_parallel_size = 1; }},
    {.id = "parallel.weight-shards",
     .dialects = since(kMcore_0_19_2),
     .outcome = kValueError,
     .because = "Every tensor-parallel rank holds the same whole number of shards of each weight.",
     .remedy = "a multiple of the tensor-parallel size, or null",
     .knobs = "tensor_parallel_num_weight_shards tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!shards_do_not_fit(k.tensor_parallel_num_weight_shards, k.tensor_model_parallel_size)) {
         return {};
       }
       return fmt::format(
           "tensor_parallel_num_weight_shards must be a multiple of tensor_model_parallel_size: "
           "{} and {}",
           *k.tensor_parallel_num_weight_shards, k.tensor_model_parallel_size);
     }},
    {.id = "parallel.expert-weight-shards",
     .dialects = since(kMcore_0_19_2),
     .outcome = kValueError,
     .because = "Every expert tensor-parallel rank holds the same whole number of shards.",
     .remedy = "a multiple of the expert tensor-parallel size, or null",
     .knobs = "expert_tensor_parallel_num_weight_shards expert_tensor_parallel_size "
              "tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const int64_t ranks = k.expert_tensor_parallel_size.value_or(k.tensor_model_parallel_size);
       if (!shards_do_not_fit(k.expert_tensor_parallel_num_weight_shards, ranks)) return {};
       return fmt::format(
           "expert_tensor_parallel_num_weight_shards must be a multiple of "
           "expert_tensor_parallel_size: {} and {}",
           *k.expert_tensor_parallel_num_weight_shards, ranks);
     }},
    {.id = "parallel.pipeline-dtype",
     .dialects = kMcore,
     .outcome = kValueError,
     .because = "Pipeline ranks must agree on the type of what they send.",
     .remedy = "pipeline_dtype=bfloat16 (Megatron-LM's trainer and Megatron-Bridge fill it in)",
     .knobs = "pipeline_dtype pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.pipeline_model_parallel_size <= 1 || k.pipeline_dtype) return {};
       return fmt::format("pipeline_dtype must be set with pipeline_model_parallel_size {}: null",
                          k.pipeline_model_parallel_size);
     },
     .remedies = [](const Knobs& k, const Context&) -> std::vector<Remedy> {
       const std::string dtype = sent_dtype(k);
       return {setting(fmt::format("pipeline_dtype={}", dtype), {{"pipeline_dtype", dtype}})};
     }},
    {.id = "parallel.pipeline-dtype-default",
     .dialects = since(kBridge),
     .outcome = kFill,
     .because =
         "Megatron-LM's trainer and Megatron-Bridge send the parameters' type where none is said.",
     .remedy = "",
     .knobs = "pipeline_dtype pipeline_model_parallel_size bf16 fp16 fp32_residual_connection",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (k.pipeline_model_parallel_size <= 1 || k.pipeline_dtype) return {};
       return fmt::format("pipeline_dtype becomes {}", sent_dtype(k));
     },
     .rewrite = [](Knobs& k, const Context&) { k.pipeline_dtype = sent_dtype(k); }},
    {.id = "parallel.defer-needs-pipeline",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "The embedding's weight gradient is deferred into the pipeline's flush.",
     .remedy = "defer_embedding_wgrad_compute=false",
     .knobs = "defer_embedding_wgrad_compute pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.defer_embedding_wgrad_compute || k.pipeline_model_parallel_size != 1) return {};
       return "defer_embedding_wgrad_compute needs pipeline_model_parallel_size > 1: it is 1";
     }},
    {.id = "parallel.defer-needs-fusion",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "A deferred weight gradient is added up by the fused GEMM.",
     .remedy = "gradient_accumulation_fusion=true, or defer_embedding_wgrad_compute=false",
     .knobs = "defer_embedding_wgrad_compute gradient_accumulation_fusion",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.defer_embedding_wgrad_compute || k.gradient_accumulation_fusion) return {};
       return "defer_embedding_wgrad_compute needs gradient_accumulation_fusion: it is false";
     }},
    {.id = "parallel.deferral-limit",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "It counts micro-batches.",
     .remedy = "wgrad_deferral_limit=0 or more",
     .knobs = "wgrad_deferral_limit defer_embedding_wgrad_compute",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.defer_embedding_wgrad_compute || k.wgrad_deferral_limit >= 0) return {};
       return fmt::format("wgrad_deferral_limit must be 0 or more: {}", k.wgrad_deferral_limit);
     }},
    {.id = "parallel.expert-and-tensor",
     .dialects = until(kMcore_0_14_0),
     .outcome = kValueError,
     .because = "With experts and tensors split, these releases want the sequence split as well.",
     .remedy = "sequence_parallel=true",
     .knobs = "sequence_parallel expert_model_parallel_size tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!splits_all_but_the_sequence(k)) return {};
       return fmt::format(
           "sequence_parallel must be true with expert size {} and tensor size {}: it is false",
           k.expert_model_parallel_size, k.tensor_model_parallel_size);
     },
     .remedies = split_the_sequence},
    {.id = "parallel.expert-and-tensor-crash",
     .dialects = DialectSet(kMcore_0_15_3),
     .outcome = kNameError,
     .because = "This release means to warn and calls a module that it does not import.",
     .remedy = "sequence_parallel=true",
     .knobs = "sequence_parallel expert_model_parallel_size tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!splits_all_but_the_sequence(k)) return {};
       return "experts and tensors split without sequence_parallel: this release crashes on its "
              "own warning";
     },
     .remedies = split_the_sequence},
    {.id = "parallel.expert-and-tensor-note",
     .dialects = since(kMcore_0_16_1),
     .outcome = kNote,
     .because = "Training with experts and tensors split wants the sequence split as well.",
     .remedy = "sequence_parallel=true",
     .knobs = "sequence_parallel expert_model_parallel_size tensor_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!splits_all_but_the_sequence(k)) return {};
       return fmt::format("sequence_parallel is false with expert size {} and tensor size {}",
                          k.expert_model_parallel_size, k.tensor_model_parallel_size);
     }},
    {.id = "parallel.flush-overlap",
     .dialects = kEverywhere,
     .outcome = kValueError,
     .because = "Overlap in warm-up and flush is built on separate, overlapping sends.",
     .remedy = "overlap_p2p_comm=true and batch_p2p_comm=false",
     .knobs = "overlap_p2p_comm_warmup_flush overlap_p2p_comm batch_p2p_comm",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       if (!k.overlap_p2p_comm_warmup_flush || (k.overlap_p2p_comm && !k.batch_p2p_comm)) return {};
       return fmt::format(
           "overlap_p2p_comm_warmup_flush needs overlap_p2p_comm and not batch_p2p_comm: {} and {}",
           k.overlap_p2p_comm, k.batch_p2p_comm);
     }},
    {.id = "parallel.micro-batch-group",
     .dialects = kEverywhere,
     .outcome = kNote,
     .because = "The classes check no range; the interleaved schedule raises a ValueError in the "
                "first step, since a group must keep every rank busy.",
     .remedy = "microbatch_group_size_per_vp_stage=null, which means the pipeline size",
     .knobs = "microbatch_group_size_per_vp_stage pipeline_model_parallel_size "
              "virtual_pipeline_model_parallel_size",
     .broken = [](const Knobs& k, const Context&) -> Complaint {
       const int64_t ranks = k.pipeline_model_parallel_size;
       const bool interleaves = ranks > 1 && k.virtual_pipeline_model_parallel_size.value_or(1) > 1;
       const int64_t group = k.microbatch_group_size_per_vp_stage.value_or(ranks);
       if (!interleaves || group >= ranks) return {};
       return fmt::format(
           "microbatch_group_size_per_vp_stage must be the pipeline size or more: {} and {}", group,
           ranks);
     }},
};

}  // namespace

std::span<const Rule> parallel_rules() { return kParallelRules; }

}  // namespace refrain::config
