// Lines that go in steps, as the data of SVG paths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::report {

/// From x on the height is y, until the next one. In the units of a viewBox: y goes down.
struct StepPoint {
  int64_t x = 0, y = 0;
};

/// The line through the points and on to x = `end`; nothing where there are no points.
std::string step_line(const std::vector<StepPoint>& points, int64_t end);

/// What lies between that line and y = `floor`.
std::string step_area(const std::vector<StepPoint>& points, int64_t end, int64_t floor);

}  // namespace refrain::report
