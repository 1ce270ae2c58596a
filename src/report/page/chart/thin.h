// A long series made short enough to draw, so that the eye cannot tell.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace refrain::report {

/// Indices to keep, ascending: of each of `columns` equal stretches the first, the lowest, the
/// highest and the last value (the first of equal ones). A line through them covers the same pixels
/// as one through all, where a column is a pixel wide: M4 of Jugel, Jerzak, Hackenbroich and Markl,
/// "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014. All of a series that is
/// no longer than four values a column.
std::vector<size_t> thin(std::span<const int64_t> series, size_t columns);

}  // namespace refrain::report
