// A GPU and the machine around it, as far as the seconds of a training step depend on them.
//
// Peaks are dense and a GPU; links are one direction, a GPU. A rate is what real kernels and hosts
// reach of that. data/devices has the built-in profiles, each number with its source.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/quantity.h"

namespace refrain::cost {

struct Peaks {
  double bf16_flops = 0, fp8_flops = 0, fp4_flops = 0;  // FLOP/s; 0: the device has no such units
  double hbm_bytes_per_s = 0, nvlink_bytes_per_s = 0, nic_bytes_per_s = 0;
  int64_t nvlink_domain = 1;  // GPUs that NVLink joins
};

/// Matrix products: shares of the number format's peak that a large one reaches, and what keeps
/// smaller ones from it.
struct GemmRates {
  double bf16 = 0, fp8 = 0, mxfp8 = 0, nvfp4 = 0;  // 0: no rate known
  double device_factor = 1;  // of this device against the family that the shares were fitted to
  double size_scale = 0;     // efficiency falls by 1 / (1 + size_scale / dim) a dim
  double grouped = 1;        // of a grouped product against one of the same size
};

struct KernelRates {
  double attention_forward = 0;      // share of the bf16 peak
  double attention_backward = 1;     // speed against forward's
  double memory = 1;                 // share of the HBM peak that element-wise kernels reach
  double gradient_accumulation = 0;  // share of the main gradient's traffic that is not hidden
  double scan = 1;                   // multiplies the bytes of a Mamba scan
  double permute_alltoall = 1, permute_deepep = 1, permute_hybridep = 1;  // multiply bytes too
};

struct LinkRates {
  double nvlink = 1, nic = 1;  // share of the peak that is reached
  double hidden_tensor = 0;    // share that tensor-parallel overlap hides,
  double hidden_expert = 0;    // that expert-parallel overlap hides,
  double hidden_data = 0;      // that the gradient and weight overlap of data parallelism hides,
  double hidden_sharded = 0;   // and that fully sharded weights hide
};

/// A host unit is about one kernel launch with its framework work.
struct HostRates {
  double unit_s = 0;
  double expert_units = 0;                      // more a local expert of a low-precision product
  double alltoall_units = 0, deepep_units = 0;  // more a dispatch or combine
  double overlap_factor = 1;                    // expert-parallel overlap cuts layers into pieces
  double plain_units = 0, discard_units = 0;    // one recomputed region, both passes together
};

struct Rates {
  GemmRates gemm;
  KernelRates kernels;
  LinkRates links;
  HostRates host;
  double step_fixed_s = 0;  // data, gradient norm, logging: once a step
};

/// Where a number is from and how far it moved between fits to random halves of the data.
struct Provenance {
  std::string source;
  std::optional<std::pair<double, double>> range;
};

struct DeviceProfile {
  std::string name, title;
  std::string host;          // "x86" or "arm"
  int64_t memory_bytes = 0;  // what the driver leaves to programs
  Peaks peaks;
  Rates rates;
  std::map<std::string, Provenance> provenance;  // by the field's name in a profile file

  Bytes memory() const { return Bytes(memory_bytes); }
};

}  // namespace refrain::cost
