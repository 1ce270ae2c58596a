// What was typed of a Megatron run, and the run that comes of it.
#pragma once

#include <optional>
#include <string>

#include "cli/command_line.h"
#include "cli/megatron/megatron_options.h"

namespace refrain::cli {

struct TypedRun {
  std::string model, hardware, precision = "bf16";
  std::optional<std::string> budget, recompute;
  int64_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, dp = 1, micro_batch = 1, seq = 4096;
  std::optional<int64_t> etp, global_batch;
  std::optional<std::string> layout;
  bool account_for_embedding = false, account_for_loss = false;
  bool no_sequence_parallel = false, no_distributed_optimizer = false, tp_overlap = false;
  bool fp8_param_gather = false, grad_reduce_in_bf16 = false;
};

/// Declares the flags of a run, of its budget and of its setting.
void declare_run(CommandLine& line, TypedRun& typed);

/// The run; findings where a name is unknown, sizes are out of range or do not fit together, or the
/// run has no model.
Checked<MegatronRunOptions> settle_run(const TypedRun& typed, Findings findings);

}  // namespace refrain::cli
