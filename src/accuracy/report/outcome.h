// A measured run beside its prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/quantity.h"

namespace refrain::accuracy {

struct Outcome {
  int64_t row = 0;        // the one below the names is 1
  std::string name;       // what ran, for people
  std::string family;     // rows that are summed up together; empty where the row cannot be read
  bool modelled = false;  // a figure was measured and predicted
  std::string reason;     // why not, or what was assumed
  std::optional<Bytes> peak_measured, peak_point, peak_upper;
  std::optional<double> time_measured_ms, time_ms;

  /// Reasons stand in the order they were found, with semicolons between.
  void add_reason(std::string_view why);

  /// Predicted over measured, less 1, in percent; nothing where either is missing.
  std::optional<double> error_percent() const;
  std::optional<double> slack_percent() const;  // of the upper bound
  std::optional<double> time_error_percent() const;
};

}  // namespace refrain::accuracy
