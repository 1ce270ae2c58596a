// What the errors of many runs come to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/report/outcome.h"

namespace refrain::accuracy {

/// Order statistics of signed errors in percent, by linear interpolation between the two nearest
/// ranks; 0 where there are none.
struct ErrorSummary {
  int64_t count = 0;
  double signed_median = 0, abs_median = 0, abs_p90 = 0;
  double worst = 0;       // the one farthest from 0, with its sign
  int64_t num_under = 0;  // below 0
};

ErrorSummary summarize_errors(const std::vector<double>& signed_percent);

struct Summary {
  std::string name;  // "all" or a family
  int64_t num_rows = 0, num_modelled = 0;
  ErrorSummary peak, upper, time;  // upper: of the bound
};

/// All rows together, then each family, the largest first. Rows that could not be read have no
/// family and count in the first alone.
std::vector<Summary> summarize(const std::vector<Outcome>& outcomes);

}  // namespace refrain::accuracy
