// A ledger for readers: text for people, JSON and CSV for programs.
#pragma once

#include <string>

#include "base/finding.h"
#include "config/run_options.h"
#include "plan/prepare.h"

namespace refrain::cli {

/// One setting of one model; `peak_without` is the peak of setting none.
struct LedgerView {
  const config::LedgerOptions& options;
  const plan::PreparedStep& step;
  Bytes peak_without;
  const Findings& notes;
};

/// The account tree at the peak with shares, the step it is at, the static state, the gain.
std::string to_text(const LedgerView& view);

/// One object: peak_bytes, peak_step (index from 0), peak_step_name, static_bytes,
/// peak_bytes_without_recompute, accounts {name: {bytes, parts {tensor: bytes}}}, settings {},
/// timeline [{step, name, during_bytes, after_bytes}], findings [{rule, severity, message,
/// remedy}].
std::string to_json(const LedgerView& view);

/// One line a step: its index, name, bytes during and after, and every account's bytes during it.
std::string to_csv(const LedgerView& view);

}  // namespace refrain::cli
