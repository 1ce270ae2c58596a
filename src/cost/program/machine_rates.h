// What a machine that runs our engine does in a second, by kind of work; `refrain calibrate`
// measures it.
#pragma once

#include <string>

#include "base/finding.h"

namespace refrain::cost {

/// All rates count what model::Op declares: FLOPs of GEMMs and attention, bytes of the tensors that
/// the other ops read and write.
struct MachineRates {
  std::string name;                     // "cpu", or what the file says
  std::string source;                   // where the numbers come from
  double gemm_flops = 0;                // FLOP/s of linear layers and the loss head
  double attention_forward_flops = 0;   // FLOP/s
  double attention_backward_flops = 0;  // FLOP/s
  double memory_bytes = 0;              // B/s of ops that move data
  double activation_bytes = 0;          // B/s of GELU and SwiGLU, which also compute
  double update_bytes = 0;              // B/s of the optimizer, of weights, moments and gradients
  double step_s = 0;                    // seconds that starting any op costs

  bool operator==(const MachineRates&) const = default;
};

/// Two cores of a server CPU with AVX-512, as `refrain calibrate` measured them: what plans are
/// priced with where nothing else is given.
MachineRates default_rates();

/// A JSON object with the members above, of at most 64 KiB. Findings name the member and the value:
/// missing, unknown (with the nearest), not a number, not above zero.
Checked<MachineRates> parse_rates(const std::string& json_text);
std::string to_json(const MachineRates& rates);

/// parse_rates of a file. Findings `rates.no-file` and `rates.unreadable` where it cannot be read.
Checked<MachineRates> read_rates(const std::string& path);

}  // namespace refrain::cost
