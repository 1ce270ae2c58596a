#include "cost/price/pricer.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace refrain::cost {
namespace {

// Low precision wants larger products for the same efficiency, and more launches a product (casts,
// scales).
constexpr double kLowPrecisionSizeScale = 1.5;
constexpr double kLowPrecisionUnits = 1.5;
// A captured scope is launched as one graph; a captured step is one launch, and little else is
// left.
constexpr double kCapturedUnits = 0.05;
constexpr double kFullGraphUnits = 0.02;
// A gather under sequence parallelism runs once more in backward, half hidden behind a product.
constexpr double kRegather = 1.5;
constexpr double kBackwardFlops = 2.5;  // of attention, against forward: op.h

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

struct FormatRow {
  mcore::LowPrecision asked;
  std::string_view field;
  double Peaks::*peak;
  double GemmRates::*reached;
  double operand_bytes;  // NVFP4: half a byte and a scale of one byte for 16
  double cast_bytes;  // read 2 (twice where the scale needs a pass of its own), write both layouts
};

/// From the narrowest to the widest. Delayed and blockwise scaling are priced as current scaling:
/// no rates of theirs are known.
constexpr FormatRow kFormats[] = {
    {mcore::LowPrecision::kNvfp4, "gemm_nvfp4", &Peaks::fp4_flops, &GemmRates::nvfp4, 0.56, 5.12},
    {mcore::LowPrecision::kMxfp8, "gemm_mxfp8", &Peaks::fp8_flops, &GemmRates::mxfp8, 1, 4},
    {mcore::LowPrecision::kFp8Blockwise, "gemm_fp8", &Peaks::fp8_flops, &GemmRates::fp8, 1, 6},
    {mcore::LowPrecision::kFp8Delayed, "gemm_fp8", &Peaks::fp8_flops, &GemmRates::fp8, 1, 6},
    {mcore::LowPrecision::kFp8Current, "gemm_fp8", &Peaks::fp8_flops, &GemmRates::fp8, 1, 6},
    {mcore::LowPrecision::kNone, "gemm_bf16", &Peaks::bf16_flops, &GemmRates::bf16, 2, 0},
};

}  // namespace

GemmFormat gemm_format(mcore::LowPrecision wanted, const DeviceProfile& device) {
  const auto asked = std::find_if(std::begin(kFormats), std::end(kFormats) - 1,
                                  [&](const FormatRow& row) { return row.asked == wanted; });
  const auto found = std::find_if(asked, std::end(kFormats) - 1, [&](const FormatRow& row) {
    return device.peaks.*row.peak > 0 && device.rates.gemm.*row.reached > 0;
  });
  return {.name = std::string(found->field),
          .peak = device.peaks.*found->peak,
          .reached = device.rates.gemm.*found->reached * device.rates.gemm.device_factor,
          .operand_bytes = found->operand_bytes,
          .cast_bytes = found->cast_bytes,
          .as_asked = found == asked};
}

Pricer::Pricer(const mcore::Run& run, const DeviceProfile& device)
    : run_(run),
      device_(device),
      format_(gemm_format(run.numerics.gemms, device)),
      bf16_(gemm_format(mcore::LowPrecision::kNone, device)),
      bandwidth_(device.peaks.hbm_bytes_per_s * device.rates.kernels.memory) {}

double Pricer::nvlink() const {
  return device_.peaks.nvlink_bytes_per_s * device_.rates.links.nvlink;
}

double Pricer::nic() const { return device_.peaks.nic_bytes_per_s * device_.rates.links.nic; }

/// The slower of compute, whose efficiency falls with each dim, and of moving the operands.
double Pricer::gemm(const Gemm& gemm, const GemmFormat& format) const {
  const auto& [m, n, k, groups] = gemm;
  if (m * n * k == 0) return 0;
  const GemmRates& rates = device_.rates.gemm;
  const double scale = rates.size_scale * (format.low() ? kLowPrecisionSizeScale : 1);
  double efficiency =
      format.reached / ((1 + scale / std::max(m, 1.0)) * (1 + scale / n) * (1 + scale / k));
  if (groups > 1) efficiency *= rates.grouped;
  const double compute = 2 * m * n * k * groups / (format.peak * efficiency);
  const double bytes = groups * ((m * k + n * k) * format.operand_bytes + 2 * m * n);
  return std::max(compute, memory_seconds(bytes));
}

double Pricer::cast_seconds(double elements) const {
  return memory_seconds(elements * format_.cast_bytes);
}

/// Forward casts the input, backward the output's gradient. Trained weights add a product and the
/// part of reading and writing float32 gradients that is not hidden in it.
PassSeconds Pricer::gemm_op(const Gemm& forward) const {
  const auto& [m, n, k, groups] = forward;
  PassSeconds seconds = {gemm(forward, format_) + cast_seconds(m * k * groups),
                         gemm({m, k, n, groups}, format_) + cast_seconds(m * n * groups)};
  if (run_.optimizer.trains_adapters_only) return seconds;
  seconds.backward +=
      gemm({n, k, m, groups}, format_) +
      device_.rates.kernels.gradient_accumulation * memory_seconds(8 * n * k * groups);
  return seconds;
}

double Pricer::permute_factor() const {
  const KernelRates& rates = device_.rates.kernels;
  const std::string& dispatcher = run_.model.experts.dispatcher;
  if (dispatcher == "alltoall") return rates.permute_alltoall;
  if (dispatcher == "deepep") return rates.permute_deepep;
  if (dispatcher == "hybridep") return rates.permute_hybridep;
  return 1;
}

PassSeconds Pricer::tensor_link(const TensorLink& link) const {
  const double hidden = run_.place.tp_overlap ? device_.rates.links.hidden_tensor : 0;
  const double once = link.bytes / nvlink() * (1 - hidden);
  const bool again = link.gathers && run_.parallel.sequence;
  return {once, once * (again ? kRegather : 1)};
}

double Pricer::context_link(const ContextLink& link) const {
  const bool near = run_.parallel.tensor * run_.parallel.context <= device_.peaks.nvlink_domain;
  return link.exposed * link.bytes / (near ? nvlink() : nic());
}

/// Rows go to their experts' ranks: over NVLink one copy an expert; to other nodes also one an
/// expert (alltoall), or one a node that has any of them. Allgather sends every token everywhere.
double Pricer::expert_link(const ExpertLink& link) const {
  const auto experts = static_cast<double>(run_.parallel.expert);
  const double ranks = experts * static_cast<double>(run_.parallel.expert_tensor);
  if (ranks <= 1) return 0;
  const auto topk = static_cast<double>(run_.model.experts.topk);
  const auto domain = static_cast<double>(device_.peaks.nvlink_domain);
  const double bytes = 2 * link.tokens * link.width;
  const std::string& dispatcher = run_.model.experts.dispatcher;
  const bool everywhere = dispatcher == "allgather";
  double seconds = bytes * (everywhere ? ranks - 1 : topk * (1 - 1 / experts)) / nvlink();
  if (ranks > domain) {
    const double nodes = ranks / domain;
    const double elsewhere = 1 - 1 / nodes;
    const double copies = everywhere ? ranks - domain
                          : dispatcher == "alltoall"
                              ? topk * elsewhere
                              : (nodes - 1) * (1 - std::pow(elsewhere, topk));
    seconds = std::max(seconds, bytes * copies / nic());
  }
  return seconds * (run_.place.ep_overlap ? 1 - device_.rates.links.hidden_expert : 1);
}

PassSeconds Pricer::seconds(const Op& op) const {
  const KernelRates& rates = device_.rates.kernels;
  const double attention_flops = device_.peaks.bf16_flops * rates.attention_forward;
  const auto moved = [&](const auto& traffic, double factor) {
    return PassSeconds{memory_seconds(traffic.forward * factor),
                       memory_seconds(traffic.backward * factor)};
  };
  return std::visit(
      Overloaded{
          [&](const Gemm& gemm) { return gemm_op(gemm); },
          [&](const Attention& attention) {
            const double forward = attention.flops / attention_flops;
            return PassSeconds{forward, kBackwardFlops * forward / rates.attention_backward};
          },
          [&](const MemoryTraffic& traffic) { return moved(traffic, 1); },
          [&](const Permute& permute) { return moved(permute, permute_factor()); },
          [&](const Scan& scan) { return moved(scan, rates.scan); },
          [&](const ChunkedRule& rule) {
            const PassSeconds bytes = moved(rule.bytes, 1);
            return PassSeconds{std::max(bytes.forward, rule.flops.forward / attention_flops),
                               std::max(bytes.backward, rule.flops.backward / attention_flops)};
          },
          [&](const TensorLink& link) { return tensor_link(link); },
          [&](const ContextLink& link) {
            const double once = context_link(link);
            return PassSeconds{once, once};
          },
          [&](const ExpertLink& link) {
            const double once = expert_link(link);
            return PassSeconds{once, once};
          },
      },
      op.work);
}

/// Two products and the loss each way: the loss reads and writes the logits about ten bytes each.
PassSeconds Pricer::head_seconds(double tokens, double columns) const {
  const auto hidden = static_cast<double>(run_.model.hidden);
  const double loss = memory_seconds(10 * tokens * columns);
  PassSeconds seconds = {gemm({tokens, columns, hidden}, bf16_) + loss,
                         gemm({tokens, hidden, columns}, bf16_) + loss};
  if (!run_.optimizer.trains_adapters_only) {
    seconds.backward += gemm({hidden, columns, tokens}, bf16_);
  }
  return seconds;
}

double Pricer::dispatch_units() const {
  const std::string& dispatcher = run_.model.experts.dispatcher;
  if (dispatcher == "alltoall") return device_.rates.host.alltoall_units;
  if (dispatcher == "deepep") return device_.rates.host.deepep_units;
  return 0;
}

double Pricer::full_graph_factor() const {
  return run_.place.graphs.contains("full_iteration") ? kFullGraphUnits : 1;
}

bool Pricer::captures(std::string_view scope) const {
  return run_.place.graphs.contains(std::string(scope));
}

HostUnits Pricer::host_units(const Op& op) const {
  HostUnits units = op.host;
  if (const auto* gemm = std::get_if<Gemm>(&op.work); gemm && format_.low()) {
    const double casts = gemm->groups > 1 ? device_.rates.host.expert_units * gemm->groups : 0;
    units = {kLowPrecisionUnits * units.forward + casts,
             kLowPrecisionUnits * units.backward + 1.5 * casts};
  }
  if (std::holds_alternative<Permute>(op.work)) {
    units = {units.forward + dispatch_units(), units.backward + dispatch_units()};
  }
  double factor = run_.place.ep_overlap ? device_.rates.host.overlap_factor : 1;
  if (full_graph_factor() < 1) {
    factor *= full_graph_factor();
  } else if (captures(op.scope)) {
    factor *= kCapturedUnits;
  }
  return {units.forward * factor, units.backward * factor};
}

}  // namespace refrain::cost
