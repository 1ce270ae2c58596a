// Figures of published measurements, as their sources print them.
#pragma once

#include <optional>
#include <string_view>

#include "accuracy/rows/sample.h"
#include "accuracy/rows/table.h"

namespace refrain::accuracy {

/// "47.2", "~59", "1667 (1576)": the number in front. Nothing for a range, a difference, or words.
std::optional<double> figure_of(std::string_view text);

/// A peak in bytes: GiB is 2^30, GB 10^9. Nothing where the figure or its kind is no peak of one
/// rank's allocated bytes.
std::optional<MeasuredPeak> peak_of(std::string_view figure, std::string_view kind);

/// Sets peak and step time; notes say which figure cannot be compared, and why. Needs the run.
void read_figures(const RowReader& row, Sample& sample);

}  // namespace refrain::accuracy
