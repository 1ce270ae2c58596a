// Source: Megatron-LM's megatron/training (arguments.py, config/) from core_v0.12.3 on, and the
// scripts that its functional tests run.
#include "config/inputs/flags/megatron_flags.h"

#include <set>
#include <string>

#include "config/scan.h"

namespace refrain::config {
namespace {

/// A name or the first words of names, without dashes before them and without no- or disable-.
constexpr std::string_view kFamilies =
    "adam adlr async bert biencoder check-for ckpt clip data dataloader ddp decoder-seq "
    "decoupled dino dist distrib distributed encoder end-weight error-injection eval exit "
    "export fim finetune flight-recorder fsdp ft fully-parallel grpo heterogeneous-layers "
    "hybrid ict indexer inference init-method-xavier inprocess iter iterations kitchen "
    "langrl lion load log logging logits loss-scale lr manual-gc mask megatron-fsdp mock "
    "modelopt moe-routing-trace moe-upcycling muon non-persistent null-tokenizer nvtx "
    "one-logger optimizer otel outer overlap-grad overlap-param padded per-dataset per-split "
    "pretrained profile pytorch-profiler query record replication rerun retriever retro rl "
    "s3 sample save seed sft sgd skip start-weight straggler swin tensorboard test-data "
    "tiktoken timing titles tokenizer torch-fsdp2 train trust use-checkpoint use-dist "
    "use-legacy use-tokenizer valid vision vocab wandb weight-decay wsd yarn";

/// Names in full, the same way.
constexpr std::string_view kNames =
    "accumulate-allreduce-grads-in-fp32 align-grad-reduce align-param-gather "
    "allow-ambiguous-pad-tokens app-tag-run-name app-tag-run-version "
    "apply-wd-to-qk-layernorm auto-detect-ckpt-format block-data-path calc-ft-timeouts "
    "chat-template check-weight-hash-across-dp-replicas-interval chunked-prefill "
    "classes-fraction create-all-gather-group create-attention-mask-in-dataloader "
    "dataset-provider decode-only-cuda-graphs decoder-num-layers "
    "decrease-batch-size-if-needed dump-param-to-param-group-map embedding-path "
    "empty-unused-memory-level enable-chunked-prefill enable-experimental enable-ft-package "
    "enable-full-sharding-in-hsdp enable-gpt-oss enable-msc eod-mask-loss evidence-data-path "
    "exp-avg-dtype exp-avg-sq-dtype fake-process-group filter-warnings fp16-lm-cross-entropy "
    "freeze-all-layers freeze-base-for-mtp full-validation gloo-process-groups "
    "gpu-sniff-test-interval grad-reduce-in-bf16 gradient-reduce-div-fusion "
    "gtp-expert-remat-nccl-ub gtp-remat-nccl-ub "
    "gtp-remat-reduce-scatter-with-fp32-accumulation head-lr-mult "
    "high-priority-stream-groups hysteresis img-h img-w incoming-requests-per-sec "
    "incoming-requests-per-step initial-loss-scale jit-fuser keep-fp8-transpose-cache "
    "keep-fp8-transpose-cache-when-using-custom-fsdp language-model-checkpoint lazy-mpu-init "
    "legacy-tokenizer local-rank main-grads-dtype main-params-dtype "
    "make-vocab-size-divisible-by mamba-inference-conv-states-dtype "
    "mamba-inference-ssm-states-dtype max-tokens-to-oom memory-keys memory-snapshot-path "
    "merge-file metadata-path mid-level-dataset-surplus min-loss-scale min-lr mmap-bin-files "
    "model-provider modules-to-filter moe-use-upcycling most-recent-k msc "
    "multiple-validation-sets nccl-communicator-config-path num-channels num-classes "
    "num-dataset-builder-threads num-distributed-optimizer-instances num-speculative-tokens "
    "num-tokens-from-file num-tokens-to-generate num-workers object-storage-cache-path "
    "offset-sampling-seed-by-dp-rank onnx-safe openai-gelu output-bert-embeddings "
    "output-every-n-results output-logit-dtype output-path overlap-cpu-optimizer-d2h-h2d "
    "override-ckpt-iteration override-opt-param-scheduler override-opt_param-scheduler "
    "packing-buffer-size pad-vocab-size patch-dim perform-rl-step persistent-save-interval "
    "phase-transition-iterations pin-cpu-grads pin-cpu-params position-embedding "
    "position-embedding-type prompt-file prompt-file-num-truncate prompts qad-train-target "
    "rampup-batch-size refit-method relative-attention-max-distance "
    "relative-attention-num-buckets reset-attention-mask reset-position-ids "
    "result-rejected-tracker-filename return-log-probs reuse-grad-buf-for-mxfp8-param-ag "
    "rope-scaling-factor rotary-seq-len-interpolation-factor run-workload-inspector-server "
    "runtime-time-unit scatter-gather-tensors-in-pipeline set-level-for-all-loggers "
    "sharp-enabled-group short-seq-prob spec special-tokens split start-eval-at-iter "
    "step-batch-size-schedule stop-words stream-ckpt-dequant strict-fsdp-dtensor-load "
    "suggested-communication-unit-size suspend-resume-interval suspend-timeout "
    "symmetric-registration te-precision-config-file teacher-model-config temperature "
    "termination-id throughput-check-only throughput-window-size top-n-logprobs top_k top_p "
    "total-seq-length tp-comm-overlap-cfg untie-embeddings-and-output-weights "
    "use-coordinator use-custom-fsdp use-distributed-optimizer use-flash-attn "
    "use-flashinfer-fused-rope use-gigatoken use-gloo-process-groups "
    "use-layer-wise-param-layout use-mcore-models use-megatron-fsdp "
    "use-mp-args-from-checkpoint-args use-nccl-ub use-nsys-profiler use-one-sent-docs "
    "use-packed-sequence use-persistent-ckpt-worker use-precision-aware-optimizer "
    "use-pytorch-profiler use-rope-scaling use-rotary-position-embeddings "
    "use-same-sampling-seed-across-dp-ranks use-sharp use-torch-fsdp2 "
    "use-torch-optimizer-for-cpu-offload use-tp-pp-dp-mapping validation-set-names "
    "verify-integrity warmup wd-incr-steps yaml-cfg";

std::set<std::string> set_of(std::string_view words) {
  std::set<std::string> made;
  for (std::string& word : split(words, ' ')) made.insert(std::move(word));
  return made;
}

/// True where the name, or its first words, is a family.
bool is_of_family(std::string_view name) {
  static const std::set<std::string> families = set_of(kFamilies);
  for (size_t dash = name.find('-'); dash != std::string_view::npos;
       dash = name.find('-', dash + 1)) {
    if (families.contains(std::string(name.substr(0, dash)))) return true;
  }
  return families.contains(std::string(name));
}

}  // namespace

bool is_megatron_flag(std::string_view flag) {
  constexpr size_t kLongest = 100;
  if (!flag.starts_with("--") || flag.size() > kLongest) return false;
  std::string_view name = flag.substr(2);
  for (const std::string_view prefix : {"no-", "disable-"}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    break;
  }
  static const std::set<std::string> names = set_of(kNames);
  return is_of_family(name) || names.contains(std::string(name));
}

}  // namespace refrain::config
