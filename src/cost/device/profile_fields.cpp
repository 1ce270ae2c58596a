#include "cost/device/profile_fields.h"

namespace refrain::cost {
namespace {

// Bounds are wide enough for any device and narrow enough to tell a slip of the unit (989 for
// 989e12) or of the sign.
constexpr double kLeastFlops = 1e12, kMostFlops = 1e18;
constexpr double kLeastBandwidth = 1e8, kMostBandwidth = 1e15;
constexpr double kLeastShare = 0.001;
constexpr double kMostTraffic = 100;
constexpr double kMostUnits = 1e4;

#define RC_REAL(member) +[](DeviceProfile& p) -> double& { return p.member; }
#define RC_WHOLE(member) +[](DeviceProfile& p) -> int64_t& { return p.member; }

constexpr ProfileField kFields[] = {
    {"memory_bytes", RC_WHOLE(memory_bytes), 1 << 20, 1e15, "B",
     "what the driver leaves to programs"},
    {"bf16_flops", RC_REAL(peaks.bf16_flops), kLeastFlops, kMostFlops, "FLOP/s", "dense bf16 peak"},
    {"fp8_flops", RC_REAL(peaks.fp8_flops), kLeastFlops, kMostFlops, "FLOP/s", "dense fp8 peak",
     true},
    {"fp4_flops", RC_REAL(peaks.fp4_flops), kLeastFlops, kMostFlops, "FLOP/s", "dense fp4 peak",
     true},
    {"hbm_bytes_per_s", RC_REAL(peaks.hbm_bytes_per_s), kLeastBandwidth, kMostBandwidth, "B/s",
     "peak of the device's memory"},
    {"nvlink_bytes_per_s", RC_REAL(peaks.nvlink_bytes_per_s), kLeastBandwidth, kMostBandwidth,
     "B/s", "peak of the links between GPUs of a domain, one direction"},
    {"nic_bytes_per_s", RC_REAL(peaks.nic_bytes_per_s), kLeastBandwidth, kMostBandwidth, "B/s",
     "peak of a GPU's share of the network, one direction"},
    {"nvlink_domain", RC_WHOLE(peaks.nvlink_domain), 1, 1 << 20, "GPUs", "that NVLink joins"},

    {"gemm_bf16", RC_REAL(rates.gemm.bf16), kLeastShare, 1, "of peak",
     "large matrix products, bf16"},
    {"gemm_fp8", RC_REAL(rates.gemm.fp8), kLeastShare, 1, "of peak", "fp8, scaled by tensor", true},
    {"gemm_mxfp8", RC_REAL(rates.gemm.mxfp8), kLeastShare, 1, "of peak", "MXFP8", true},
    {"gemm_nvfp4", RC_REAL(rates.gemm.nvfp4), kLeastShare, 1, "of peak", "NVFP4", true},
    {"gemm_device_factor", RC_REAL(rates.gemm.device_factor), kLeastShare, 10, "",
     "multiplies the four shares: power and clocks"},
    {"gemm_size_scale", RC_REAL(rates.gemm.size_scale), 0, 1e4, "elements",
     "efficiency falls by 1 / (1 + scale / dim) a dim"},
    {"gemm_grouped", RC_REAL(rates.gemm.grouped), kLeastShare, 10, "",
     "speed of a grouped product against a plain one of the same size"},

    {"attention_forward", RC_REAL(rates.kernels.attention_forward), kLeastShare, 1, "of bf16 peak",
     "attention, forward"},
    {"attention_backward", RC_REAL(rates.kernels.attention_backward), kLeastShare, 10, "",
     "its speed in backward against forward"},
    {"memory_traffic", RC_REAL(rates.kernels.memory), kLeastShare, 1, "of HBM peak",
     "element-wise kernels"},
    {"gradient_accumulation", RC_REAL(rates.kernels.gradient_accumulation), 0, 1, "",
     "share of the main gradients' traffic that is not hidden in the product"},
    {"scan_traffic", RC_REAL(rates.kernels.scan), 1, kMostTraffic, "", "multiplies a scan's bytes"},
    {"permute_alltoall", RC_REAL(rates.kernels.permute_alltoall), 1, kMostTraffic, "",
     "multiplies the bytes of permutes around the alltoall dispatcher"},
    {"permute_deepep", RC_REAL(rates.kernels.permute_deepep), 1, kMostTraffic, "", "around DeepEP"},
    {"permute_hybridep", RC_REAL(rates.kernels.permute_hybridep), 1, kMostTraffic, "",
     "around HybridEP"},

    {"nvlink_reached", RC_REAL(rates.links.nvlink), kLeastShare, 1, "of peak", "NVLink"},
    {"nic_reached", RC_REAL(rates.links.nic), kLeastShare, 1, "of peak", "network"},
    {"hidden_tensor", RC_REAL(rates.links.hidden_tensor), 0, 1, "",
     "share of tensor-parallel traffic that overlap hides"},
    {"hidden_expert", RC_REAL(rates.links.hidden_expert), 0, 1, "",
     "share of expert-parallel traffic that overlap hides"},
    {"hidden_data", RC_REAL(rates.links.hidden_data), 0, 1, "",
     "share of data-parallel traffic that overlap hides"},
    {"hidden_sharded", RC_REAL(rates.links.hidden_sharded), 0, 1, "",
     "share of fully sharded weights' traffic that is hidden"},

    {"host_unit_s", RC_REAL(rates.host.unit_s), 0, 1, "s",
     "about one launch with its framework work"},
    {"host_expert_units", RC_REAL(rates.host.expert_units), 0, kMostUnits, "units",
     "more a local expert of a low-precision grouped product"},
    {"host_alltoall_units", RC_REAL(rates.host.alltoall_units), 0, kMostUnits, "units",
     "more a dispatch or combine of the alltoall dispatcher"},
    {"host_deepep_units", RC_REAL(rates.host.deepep_units), 0, kMostUnits, "units", "of DeepEP"},
    {"host_overlap_factor", RC_REAL(rates.host.overlap_factor), 0.01, 100, "",
     "multiplies units under expert-parallel overlap"},
    {"host_plain_units", RC_REAL(rates.host.plain_units), 0, kMostUnits, "units",
     "a recomputed region that keeps its output, both passes"},
    {"host_discard_units", RC_REAL(rates.host.discard_units), 0, kMostUnits, "units",
     "a recomputed region that discards its output, both passes"},
    {"step_fixed_s", RC_REAL(rates.step_fixed_s), 0, 3600, "s", "data, gradient norm, logging"},
};

#undef RC_REAL
#undef RC_WHOLE

}  // namespace

std::span<const ProfileField> profile_fields() { return kFields; }

double value_of(const ProfileField& field, const DeviceProfile& profile) {
  DeviceProfile& source = const_cast<DeviceProfile&>(profile);  // `place` has one form, read here
  if (const auto* real = std::get_if<ProfileField::Real>(&field.place)) return (*real)(source);
  return static_cast<double>(std::get<ProfileField::Whole>(field.place)(source));
}

}  // namespace refrain::cost
