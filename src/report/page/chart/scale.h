// Where a value stands on an axis, and which values are written beside it.
#pragma once

#include <string>
#include <vector>

#include "base/quantity.h"

namespace refrain::report {

/// A stretch of an axis, low < high.
struct Scale {
  double low = 0, high = 1;

  /// 0 at low, 1 at high; beyond them where the value is.
  double share(double value) const { return (value - low) / (high - low); }
};

/// Round values inside the scale, ascending, about `wanted` of them: multiples of 1, 2 or 5 times a
/// power of ten.
std::vector<double> decimal_ticks(const Scale& scale, int wanted);

/// The same of bytes: multiples of a power of two.
std::vector<Bytes> byte_ticks(const Scale& scale, int wanted);

/// "1.25 GiB", "512 MiB": as few decimals as the value needs, three at most.
std::string tick_text(Bytes bytes);

}  // namespace refrain::report
