// The command lines of `refrain plan --hardware ...` and `refrain ledger --mcore ...`: a Megatron
// run as sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cost/compare.h"
#include "cost/device/device_profile.h"
#include "mcore/run.h"

namespace refrain::cli {

struct MegatronRunOptions {
  mcore::Run run;     // without recompute
  std::string model;  // as it is called
  cost::DeviceProfile device;
  std::optional<Bytes> budget;              // nothing: the device's memory
  std::optional<mcore::Recompute> setting;  // that the user runs now

  Bytes bytes_allowed() const { return budget.value_or(device.memory()); }
};

/// A step that was measured, and what it says about the device.
struct Anchor {
  mcore::Recompute setting;
  double measured_s = 0;
  cost::Calibration calibration;
  cost::StepTime control;  // of that run under the calibration
};

enum class Emit : uint8_t { kNone, kMegatronLm, kBridge };
std::string_view to_text(Emit emit);

struct MegatronPlanOptions : MegatronRunOptions {
  std::optional<Anchor> anchor;
  Emit emit = Emit::kNone;
  bool json = false;

  cost::Calibration calibration() const {
    return anchor ? anchor->calibration : cost::Calibration{};
  }
};

struct MegatronLedgerOptions : MegatronRunOptions {
  std::optional<int64_t> rank;  // nothing: all of them
  bool json = false;
};

/// True where `arguments` name a device: the plan is for a Megatron run.
bool names_hardware(const std::vector<std::string>& arguments);
/// True where the ledger is for a Megatron run.
bool names_mcore(const std::vector<std::string>& arguments);

/// Findings besides those of the run: `plan.anchor`, `time.anchor-out-of-reach`.
Parsed<MegatronPlanOptions> parse_megatron_plan(const std::vector<std::string>& arguments);
/// Findings besides those of the run: `ledger.no-such-rank`.
Parsed<MegatronLedgerOptions> parse_megatron_ledger(const std::vector<std::string>& arguments);

}  // namespace refrain::cli
