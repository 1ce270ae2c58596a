// The command line of `refrain plan --hardware ...`: a Megatron run as sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cost/device/device_profile.h"
#include "mcore/run.h"

namespace refrain::cli {

enum class Emit : uint8_t { kNone, kMegatronLm, kBridge };
std::string_view to_text(Emit emit);

struct MegatronPlanOptions {
  mcore::Run run;
  std::string model;  // as it is called
  cost::DeviceProfile device;
  std::optional<Bytes> budget;              // nothing: the device's memory
  std::optional<mcore::Recompute> setting;  // that the user runs now
  Emit emit = Emit::kNone;
  bool json = false;
};

/// True where `arguments` name a device: the plan is for a Megatron run.
bool names_hardware(const std::vector<std::string>& arguments);

Parsed<MegatronPlanOptions> parse_megatron_plan(const std::vector<std::string>& arguments);

}  // namespace refrain::cli
