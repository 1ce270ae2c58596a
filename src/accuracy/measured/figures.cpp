#include "accuracy/measured/figures.h"

#include <fmt/format.h>

#include <cmath>

#include "config/scan.h"

namespace refrain::accuracy {
namespace {

using config::contains;

/// Milliseconds a step, as printed or from tokens a second.
std::optional<double> step_ms_of(const RowReader& row, const Sample& sample) {
  const std::string_view kind = row.text("step_time_kind");
  const bool of_a_step = !contains(kind, "per-microbatch") && !contains(kind, "delta");
  if (const auto ms = figure_of(row.text("step_time_ms")); ms && *ms > 0 && of_a_step) return ms;
  const auto rate = figure_of(row.text("tokens_per_s_per_gpu"));
  if (!rate || *rate <= 0) return std::nullopt;
  const double tokens =
      static_cast<double>(sample.run.batch.global) * static_cast<double>(sample.run.batch.seq);
  return tokens / static_cast<double>(sample.run.parallel.num_gpus) / *rate * 1e3;
}

}  // namespace

std::optional<double> figure_of(std::string_view text) {
  if (text.starts_with("~")) text.remove_prefix(1);
  text = config::trimmed(text);
  if (text.find_first_of("-+") != std::string_view::npos) return std::nullopt;
  const size_t end = std::min(text.size(), text.find_first_not_of("0123456789."));
  const auto number = config::parse_real(text.substr(0, end));
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<MeasuredPeak> peak_of(std::string_view figure, std::string_view kind) {
  const auto number = figure_of(figure);
  const bool other = contains(kind, "delta") || contains(kind, "device total") ||
                     contains(kind, "upper bound") || contains(kind, "reserved");
  constexpr double kMostUnits = 1e6;
  if (!number || *number <= 0 || *number > kMostUnits || other) return std::nullopt;
  const double unit = contains(kind, "GiB") ? 1073741824.0 : 1e9;
  const bool first = contains(kind, "rank-0") || contains(kind, "stage 0");
  return MeasuredPeak{Bytes(static_cast<int64_t>(*number * unit)),
                      first ? PeakRank::kFirst : PeakRank::kHighest};
}

void read_figures(const RowReader& row, Sample& sample) {
  sample.peak = peak_of(row.text("peak_mem_gb"), row.text("peak_mem_kind"));
  if (row.given("peak_mem_gb") && !sample.peak) {
    sample.notes.push_back(fmt::format("peak is not compared: {} {}", row.text("peak_mem_gb"),
                                       row.text("peak_mem_kind")));
  }
  sample.step_ms = step_ms_of(row, sample);
  const auto tflops = figure_of(row.text("tflops_per_gpu"));
  if (!sample.step_ms && tflops && *tflops > 0) sample.tflops_per_gpu = tflops;
  if (row.given("step_time_ms") && !sample.step_ms && !sample.tflops_per_gpu) {
    sample.notes.push_back(fmt::format("time is not compared: {} {}", row.text("step_time_ms"),
                                       row.text("step_time_kind")));
  }
  const bool without = !sample.peak && !sample.step_ms && !sample.tflops_per_gpu;
  if (without && row.given("status")) {
    sample.notes.push_back(fmt::format("the source says: {}", row.text("status")));
  }
}

}  // namespace refrain::accuracy
