// Any bytes as the rates of a machine: refused, or numbers to divide by that are read back
// the same after they were written.
#include <string>

#include "base/error.h"
#include "cost/program/machine_rates.h"
#include "findings.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace refrain;
  const auto read = cost::parse_rates(std::string(reinterpret_cast<const char*>(data), size));
  fuzz::hold(read, size);
  if (!read.value) return 0;
  const cost::MachineRates& rates = *read.value;
  for (const double rate :
       {rates.gemm_flops, rates.attention_forward_flops, rates.attention_backward_flops,
        rates.memory_bytes, rates.activation_bytes, rates.update_bytes, 1 / (1 + rates.step_s)}) {
    RC_CHECK(rate > 0 && rate <= 1e21, "{}", rate);
  }
  const std::string written = cost::to_json(rates);
  const auto again = cost::parse_rates(written);
  RC_CHECK(again.value == rates, "{}", written);
  return 0;
}
