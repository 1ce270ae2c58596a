#include "report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>
#include <string_view>

namespace refrain::report {
namespace {

constexpr int kBarWidth = 24;
// Return to the first column; erase what the longer line before left behind.
constexpr std::string_view kRedraw = "\r\x1b[K";

}  // namespace

bool is_terminal(int descriptor) {
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

Progress::Progress(std::ostream& out, Style style, Span span)
    : out_(out), style_(style), span_(span) {}

void Progress::step(const StepRecord& record) {
  spent_ms_ += record.step_ms;
  ++num_done_;
  const auto left = static_cast<double>(std::max<int64_t>(0, span_.last - record.step));
  const double seconds_left = left * spent_ms_ / static_cast<double>(num_done_) / 1000;
  const std::string line = progress_line(record, span_.last, seconds_left);
  if (style_ == Style::kLines) {
    out_ << line << '\n' << std::flush;
    return;
  }
  const int64_t total = span_.last - span_.first + 1;
  out_ << kRedraw << progress_bar(record.step - span_.first + 1, total, kBarWidth) << "  " << line
       << std::flush;
  line_is_open_ = true;
}

void Progress::end() {
  if (line_is_open_) out_ << '\n' << std::flush;
  line_is_open_ = false;
}

std::string progress_line(const StepRecord& record, int64_t last_step, double seconds_left) {
  return fmt::format("step {}/{}  loss {:.4f}  {:.0f} tokens/s  {}  {} left", record.step,
                     last_step, record.loss, record.tokens_per_s, to_text(record.peaks.measured),
                     clock_text(seconds_left));
}

std::string progress_bar(int64_t done, int64_t total, int width) {
  const double share =
      total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 1;
  const auto filled = static_cast<size_t>(std::lround(share * width));
  std::string bar(static_cast<size_t>(width), '-');
  std::fill_n(bar.begin(), filled, '#');
  return fmt::format("[{}]", bar);
}

std::string clock_text(double seconds) {
  constexpr double kMost = 359999;  // 99:59:59: nobody waits for more to the second
  if (!std::isfinite(seconds) || seconds > kMost) return "over 99 h";
  const auto whole = static_cast<int64_t>(std::ceil(std::max(0.0, seconds)));
  const int64_t hours = whole / 3600;
  if (hours == 0) return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", hours, whole / 60 % 60, whole % 60);
}

}  // namespace refrain::report
