// How far a run is: one bar that moves on a terminal, one plain line a step elsewhere.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "report/run_record.h"

namespace refrain::report {

/// True where the file descriptor is a terminal that can redraw a line.
bool is_terminal(int descriptor);

/// Follows the steps first..last of a run on `out`, which must outlive it.
class Progress {
 public:
  enum class Style { kBar, kLines };
  struct Span {
    int64_t first, last;  // steps, both included
  };

  Progress(std::ostream& out, Style style, Span span);

  /// Told after each step. The time left is the steps left at the mean time of those so far.
  void step(const StepRecord& record);

  /// Ends the bar's line, so that what follows starts on its own; nothing in the plain style.
  void end();

 private:
  std::ostream& out_;
  Style style_;
  Span span_;
  double spent_ms_ = 0;
  int64_t num_done_ = 0;
  bool line_is_open_ = false;
};

/// "step 7/20  loss 3.1416  12345 tokens/s  1.20 GiB  02:05 left".
std::string progress_line(const StepRecord& record, int64_t last_step, double seconds_left);

/// "[######--------------]": `done` of `total` in a bar of `width` characters between brackets.
std::string progress_bar(int64_t done, int64_t total, int width);

/// "02:05", "1:00:07"; whole seconds, rounded up.
std::string clock_text(double seconds);

}  // namespace refrain::report
