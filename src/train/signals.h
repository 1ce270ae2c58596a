// Stopping when asked to: SIGINT and SIGTERM let the step in progress finish.
#pragma once

#include <signal.h>

namespace refrain::train {

/// While one lives, the first SIGINT or SIGTERM is remembered, for the loop to ask after each step;
/// a second one of the same kind ends the process at once, as it would without this. Both are
/// caught also where the process was started with them ignored, as shells start background jobs.
/// System calls in progress go on. Only one at a time (RC_CHECK).
class StopSignals {
 public:
  /// Throws Error where the handlers cannot be installed.
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  /// Puts back what was there before, and forgets.
  ~StopSignals();

  /// The number of the first signal that came; 0: none. Safe from any thread.
  int received() const;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

/// What a process that `signal` ended exits with, by the shell's convention: 130 for SIGINT, 143
/// for SIGTERM.
constexpr int exit_code_of(int signal) { return 128 + signal; }

}  // namespace refrain::train
