#include "accuracy/ci/ci_place.h"

#include <algorithm>

#include "accuracy/ci/ci_model.h"
#include "accuracy/rows/device.h"

namespace refrain::accuracy {
namespace {

using mcore::AttentionKernel;
using mcore::HeadLoss;
using mcore::Place;

/// Which kernel Transformer Engine takes where nobody says: inferred from what the published runs
/// hold. Deterministic runs get FlashAttention but on sm90; the container for long-term support had
/// none that is deterministic until October 2025.
AttentionKernel automatic_kernel(const RowReader& row, const Place& place) {
  if (place.deterministic && place.old_recording && place.lts) return AttentionKernel::kUnfused;
  const bool may_flash = row.text("env_NVTE_FLASH_ATTN") != "0";
  const bool may_cudnn = row.text("env_NVTE_FUSED_ATTN") != "0";
  if (!may_flash && !may_cudnn) return AttentionKernel::kUnfused;
  if (!may_flash || !may_cudnn) {
    return may_flash ? AttentionKernel::kFlash : AttentionKernel::kCudnn;
  }
  const bool cudnn =
      place.compute_capability >= 90 && (place.compute_capability < 100 || !place.deterministic);
  return cudnn ? AttentionKernel::kCudnn : AttentionKernel::kFlash;
}

AttentionKernel kernel_of(RowReader& row, const Place& place) {
  const std::string_view backend = row.text("attention-backend");
  if (!place.transformer_engine || backend == "unfused" || backend == "local") {
    return AttentionKernel::kUnfused;
  }
  if (backend == "flash") return AttentionKernel::kFlash;
  if (backend == "fused") return AttentionKernel::kCudnn;
  if (!backend.empty() && backend != "auto") {
    row.complain("attention-backend", "auto, flash, fused, unfused or local");
  }
  return automatic_kernel(row, place);
}

HeadLoss head_loss_of(RowReader& row) {
  if (!row.yes("cross-entropy-loss-fusion")) return HeadLoss::kUnfused;
  const std::string_view impl = row.text("cross-entropy-fusion-impl");
  if (impl == "te") return HeadLoss::kTransformerEngine;
  if (!impl.empty() && impl != "native") row.complain("cross-entropy-fusion-impl", "native or te");
  return HeadLoss::kNative;
}

/// PyTorch's CUDABlas.cpp: 32 MiB on sm90, and where CUBLAS_WORKSPACE_CONFIG asks for it. On sm100
/// builds differ: 32 is what runs without non-deterministic algorithms show.
bool has_large_workspace(const RowReader& row, const Place& place) {
  constexpr std::string_view kEnvironment[] = {
      "env_CUBLAS_WORKSPACE_CONFIG", "env_NVTE_ALLOW_NONDETERMINISTIC_ALGO", "env_NVTE_FUSED_ATTN",
      "env_NVTE_FLASH_ATTN", "env_PYTORCH_CUDA_ALLOC_CONF"};
  const bool silent = std::none_of(std::begin(kEnvironment), std::end(kEnvironment),
                                   [&](std::string_view name) { return row.given(name); });
  if (row.text("env_CUBLAS_WORKSPACE_CONFIG") == ":4096:8") return true;
  if (silent && place.deterministic) return true;  // the tests' launcher sets it then
  if (place.compute_capability < 100) return place.compute_capability == 90;
  return row.text("env_NVTE_ALLOW_NONDETERMINISTIC_ALGO") != "1";
}

std::set<std::string> graphs_of(RowReader& row) {
  const std::string_view impl = row.text("cuda-graph-impl");
  const bool old_switch = row.yes("enable-cuda-graph");
  if ((impl.empty() || impl == "none") && !old_switch) return {};
  std::set<std::string> scopes;
  for (const std::string_view column : {"cuda-graph-scope", "cuda-graph-modules"}) {
    for (std::string& scope : row.words(column)) scopes.insert(std::move(scope));
  }
  // Without scopes whole layers are captured.
  if (scopes.empty()) scopes = {"attn", "mlp", "mamba", "moe"};
  if (scopes.contains("full_iteration")) scopes = {"full_iteration"};
  return scopes;
}

}  // namespace

mcore::Offload read_ci_offload(RowReader& row) {
  mcore::Offload offload;
  offload.num_layers = row.whole_or("cpu-offloading-num-layers", 0, {.least = 0});
  if (row.yes("fine-grained-activation-offloading")) {
    for (std::string& module : row.words("offload-modules")) offload.modules.insert(module);
  }
  offload.min_elements =
      row.whole_or("min-offloaded-tensor-size", offload.min_elements, {.least = 0});
  offload.fraction = row.real("activation-offload-fraction").value_or(offload.fraction);
  return offload;
}

Place read_ci_place(RowReader& row, std::vector<std::string>& notes) {
  Place place;
  const Device* device = device_named(row.text("platform"));
  if (device == nullptr) {
    device = device_named("a100");
    notes.emplace_back("platform names no GPU that is known: A100 assumed");
  }
  place.device = device->profile;
  place.compute_capability = device->compute_capability;
  place.transformer_engine = row.text("transformer-impl") != "local" && row.text("spec") != "local";
  place.deterministic = row.yes("deterministic-mode");
  place.old_recording = is_old_recording(row);
  place.lts = row.text("environment") == "lts";
  place.resumed = row.text("platform").ends_with("_2nd");
  place.allocator_conf = row.text("env_PYTORCH_CUDA_ALLOC_CONF");
  place.attention = kernel_of(row, place);
  place.head_loss = head_loss_of(row);
  place.cublas_32mib = has_large_workspace(row, place);
  place.graphs = graphs_of(row);
  place.tp_overlap = row.yes("tp-comm-overlap");
  place.ep_overlap = row.yes("overlap-moe-expert-parallel-comm");
  place.offloads_activations = row.yes("fine-grained-activation-offloading") ||
                               row.whole_or("cpu-offloading-num-layers", 0, {.least = 0}) > 0;
  return place;
}

}  // namespace refrain::accuracy
