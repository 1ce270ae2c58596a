// Order statistics of measured numbers.
#pragma once

#include <vector>

namespace refrain {

/// The q-quantile, q in [0, 1], by linear interpolation between the two nearest ranks (Hyndman and
/// Fan 1996, definition 7); 0.5: the median. RC_CHECKs that there is a number.
double quantile(std::vector<double> numbers, double q);

}  // namespace refrain
