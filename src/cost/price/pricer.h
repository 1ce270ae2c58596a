// Seconds and host units of one op of a run on a device.
#pragma once

#include <string>

#include "cost/device/device_profile.h"
#include "cost/ops/op.h"
#include "mcore/run.h"

namespace refrain::cost {

struct PassSeconds {
  double forward = 0, backward = 0;
};

/// A number format of matrix products on a device.
struct GemmFormat {
  std::string name;          // the rate's field in a profile: "gemm_mxfp8"
  double peak = 0;           // FLOP/s
  double reached = 0;        // share of it, of a large product
  double operand_bytes = 2;  // an element of what is multiplied
  double cast_bytes = 0;     // moved to cast one 16-bit element
  bool as_asked = true;      // else a wider one
  bool low() const { return cast_bytes > 0; }
};

/// The format that `wanted` runs in: itself, or the nearest wider one that the device has a peak
/// and a rate for.
GemmFormat gemm_format(mcore::LowPrecision wanted, const DeviceProfile& device);

/// Prices ops one at a time: seconds of GPU and links, and units of host work. Both references must
/// outlive it.
class Pricer {
 public:
  Pricer(const mcore::Run& run, const DeviceProfile& device);

  PassSeconds seconds(const Op& op) const;
  HostUnits host_units(const Op& op) const;

  /// The loss head, which runs in bf16 whatever the layers do: `columns` of the vocabulary.
  PassSeconds head_seconds(double tokens, double columns) const;

  /// Of casting that many 16-bit elements to the run's number format.
  double cast_seconds(double elements) const;
  /// Moving that many bytes through the device's memory.
  double memory_seconds(double bytes) const { return bytes / bandwidth_; }

  double nvlink() const;  // B/s that are reached
  double nic() const;

  /// What full-iteration graphs leave of host work; 1 without.
  double full_graph_factor() const;
  const HostRates& host_rates() const { return device_.rates.host; }
  bool captures(std::string_view scope) const;

 private:
  double gemm(const Gemm& gemm, const GemmFormat& format) const;
  PassSeconds gemm_op(const Gemm& gemm) const;
  PassSeconds tensor_link(const TensorLink& link) const;
  double context_link(const ContextLink& link) const;
  double expert_link(const ExpertLink& link) const;
  double permute_factor() const;
  double dispatch_units() const;

  const mcore::Run& run_;
  const DeviceProfile& device_;
  GemmFormat format_, bf16_;
  double bandwidth_;
};

}  // namespace refrain::cost
