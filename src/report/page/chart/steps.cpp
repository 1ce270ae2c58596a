#include "report/page/chart/steps.h"

#include <fmt/format.h>

#include <iterator>

namespace refrain::report {

// Moves are relative and equal heights are one piece: most of a page of many steps is such paths.
std::string step_line(const std::vector<StepPoint>& points, int64_t end) {
  if (points.empty()) return "";
  std::string path = fmt::format("M{} {}", points[0].x, points[0].y);
  StepPoint at = points[0];
  for (const StepPoint& p : points) {
    if (p.y == at.y) continue;
    if (p.x != at.x) fmt::format_to(std::back_inserter(path), "h{}", p.x - at.x);
    fmt::format_to(std::back_inserter(path), "v{}", p.y - at.y);
    at = p;
  }
  fmt::format_to(std::back_inserter(path), "H{}", end);
  return path;
}

std::string step_area(const std::vector<StepPoint>& points, int64_t end, int64_t floor) {
  if (points.empty()) return "";
  return fmt::format("{}V{}H{}Z", step_line(points, end), floor, points[0].x);
}

}  // namespace refrain::report
