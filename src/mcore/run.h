// What the bytes and seconds of a Megatron rank depend on, whatever spelling it came from: the
// model, how it is spread out, the batch, the number formats, the recompute setting and the place.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace refrain::mcore {

/// What mixes tokens in a layer, and what follows it. A hybrid model's layers have only one half.
enum class Mixer : uint8_t { kNone, kAttention, kLatentAttention, kLinearAttention, kMamba };
enum class FeedForward : uint8_t { kNone, kDense, kExperts };

struct LayerKind {
  Mixer mixer = Mixer::kAttention;
  FeedForward feed_forward = FeedForward::kDense;
  bool windowed = false;  // attends to the last Attention::window tokens only

  bool operator==(const LayerKind&) const = default;
};

/// Heads before tensor parallelism divides them.
struct AttentionSize {
  int64_t num_heads = 0, num_query_groups = 0, head_dim = 0;
  bool qk_norm = false;
  bool output_gate = false;  // the query projection is twice as wide
  int64_t window = 0;        // of windowed layers; 0: none
  // Latent attention (MLA). q_lora_rank 0: queries come straight from the hidden state.
  int64_t q_lora_rank = 0, kv_lora_rank = 0, qk_nope_dim = 0, qk_rope_dim = 0, v_dim = 0;
};

/// Linear-attention (gated delta net) and Mamba mixers.
struct StateSize {
  int64_t num_key_heads = 0, num_value_heads = 0, key_dim = 0, value_dim = 0;  // linear attention
  int64_t num_heads = 0, head_dim = 0, state_dim = 0, num_groups = 0;          // Mamba
  int64_t conv_kernel = 4;
};

struct ExpertSize {
  int64_t num_experts = 0, topk = 0, ffn = 0;
  int64_t shared_ffn = 0;  // total width of the shared experts
  int64_t latent_dim = 0;  // experts read and write this width instead of hidden
  bool grouped_gemm = false;
  bool router_fp32 = false;
  std::string dispatcher = "allgather";  // "allgather", "alltoall", "deepep", "hybridep"
};

enum class Family : uint8_t { kDecoder, kBert, kT5 };

struct Model {
  Family family = Family::kDecoder;
  std::vector<LayerKind> layers;  // decoder layers
  int64_t mtp_layers = 0;         // multi-token prediction depths, each one more layer
  int64_t encoder_layers = 0;     // T5
  int64_t hidden = 0, ffn = 0;
  AttentionSize attention;
  StateSize state;
  ExpertSize experts;
  int64_t vocab = 0, vocab_divisible_by = 128;
  int64_t max_positions = 0;  // learned positions
  bool gated = false;         // SwiGLU: the first projection is twice as wide
  bool rms_norm = false, linear_bias = true, qkv_bias = false;
  bool tied_embeddings = true;
  enum class Positions : uint8_t { kLearned, kRope, kNone } positions = Positions::kLearned;
  double attention_dropout = 0.1, hidden_dropout = 0.1;
};

struct Parallel {
  int64_t num_gpus = 1;
  int64_t tensor = 1, pipeline = 1, virtual_stages = 1, context = 1, expert = 1;
  int64_t expert_tensor = 1;
  bool sequence = false;
  int64_t group_size = 0;  // micro-batches a virtual stage takes in a row; 0: `pipeline`
  /// Decoder layers of each chunk, [virtual stage][rank]; empty: even.
  std::vector<std::vector<int64_t>> layout;
  bool embedding_counts = false, loss_counts = false;  // as layers, where the layout is even
  bool overlaps_warmup = false;  // virtual stages prefetch inputs in warm-up too

  /// Data-parallel replicas of dense weights (context ranks not counted).
  int64_t data = 1;
};

struct Batch {
  int64_t micro = 1, global = 1, seq = 0, encoder_seq = 0;
  bool attention_mask = false;  // the data loader makes one
};

enum class Precision : uint8_t { kF32, kF16, kBf16 };
enum class LowPrecision : uint8_t {
  kNone,
  kFp8Delayed,
  kFp8Current,
  kFp8Blockwise,
  kMxfp8,
  kNvfp4
};

struct Numerics {
  Precision params = Precision::kBf16;
  LowPrecision gemms = LowPrecision::kNone;
  bool low_precision_params = false;  // weights are kept in the GEMMs' format
  int64_t gradient_bytes = 4;         // an element of the main gradients
  bool gradient_fusion = true;        // weight gradients accumulate in the GEMM
  bool softmax_fp32 = false;          // an unfused softmax that keeps its float32 result
};

struct Optimizer {
  std::string name = "adam";
  bool distributed = false;
  int64_t instances = 1;  // of the distributed optimizer
  bool overlap_grad_reduce = false;
  bool overlap_param_gather = false;
  bool pad_buckets = false;  // for high bus bandwidth
  bool fsdp = false;
  double offload_fraction = 0;  // of the state, to the host
  bool precision_aware = false;
  int64_t main_param_bytes = 4, moment_bytes = 4;  // an element
  bool trains_adapters_only = false;               // LoRA
};

struct Recompute {
  enum class Method : uint8_t { kNone, kSelective, kUniform, kBlock } method = Method::kNone;
  int64_t num_layers = 1;        // kUniform, kBlock
  std::set<std::string> labels;  // kSelective

  bool operator==(const Recompute&) const = default;
};

/// Activations that wait for backward in host memory.
struct Offload {
  int64_t num_layers = 0;          // the first ones, whole (cpu_offloading_num_layers)
  std::set<std::string> modules;   // fine-grained: "expert_fc1", "moe_act", "core_attn", ...
  int64_t min_elements = 1 << 20;  // smaller tensors stay
  double fraction = 1;             // of what could leave
};

enum class AttentionKernel : uint8_t { kUnfused, kFlash, kCudnn };
enum class HeadLoss : uint8_t { kUnfused, kNative, kTransformerEngine };

/// What of the software decides which tensors exist.
struct Place {
  std::string device = "h100-80gb";  // name of a device profile
  int compute_capability = 90;
  bool transformer_engine = true;  // false: the local layer spec
  AttentionKernel attention = AttentionKernel::kCudnn;
  HeadLoss head_loss = HeadLoss::kUnfused;
  bool deterministic = false;
  bool cublas_32mib = true;      // its workspace; else 8.125 MiB
  std::set<std::string> graphs;  // captured scopes, or "full_iteration"
  bool tp_overlap = false, ep_overlap = false;
  bool offloads_activations = false;
  int64_t deferred_head_gradients = 0;  // micro-batches that keep logits' gradients to the end
  bool old_recording = false;           // before October 2025: see memory terms' traps
  bool lts = false;                     // the long-term-support container
  bool resumed = false;                 // the optimizer state was loaded before the first step
  std::string allocator_conf;           // PYTORCH_CUDA_ALLOC_CONF as set, for allocator::Settings
};

/// `layer_recompute`: of each decoder layer of the model, for plans that Megatron has no words for;
/// empty: `recompute` says it for all.
struct Run {
  Model model;
  Parallel parallel;
  Batch batch;
  Numerics numerics;
  Optimizer optimizer;
  Recompute recompute;
  std::vector<Recompute> layer_recompute;
  Offload offload;
  Place place;
};

/// Micro-batches a data-parallel replica takes a step.
int64_t num_micro_batches(const Run& run);
/// Vocabulary rows with padding.
int64_t padded_vocab(const Run& run);
/// Decoder layers [first, first + count) of one chunk of one pipeline rank.
struct StageLayers {
  int64_t first = 0, count = 0;
};
StageLayers stage_layers(const Run& run, int64_t rank, int64_t virtual_stage);

/// What `setting`, as the whole run's, comes to for each decoder layer: under kBlock the first
/// layers of each chunk are recomputed whole, each alone.
std::vector<Recompute> layer_recompute_of(const Run& run, const Recompute& setting);

}  // namespace refrain::mcore
