#include "accuracy/report/outcome.h"

namespace refrain::accuracy {
namespace {

std::optional<double> error_of(double predicted, double measured) {
  if (measured <= 0) return std::nullopt;
  return (predicted - measured) / measured * 100;
}

std::optional<double> error_of(std::optional<Bytes> predicted, std::optional<Bytes> measured) {
  if (!predicted || !measured) return std::nullopt;
  return error_of(static_cast<double>(predicted->count()), static_cast<double>(measured->count()));
}

}  // namespace

void Outcome::add_reason(std::string_view why) {
  if (!reason.empty()) reason += "; ";
  reason += why;
}

std::optional<double> Outcome::error_percent() const { return error_of(peak_point, peak_measured); }

std::optional<double> Outcome::slack_percent() const { return error_of(peak_upper, peak_measured); }

std::optional<double> Outcome::time_error_percent() const {
  if (!time_ms || !time_measured_ms) return std::nullopt;
  return error_of(*time_ms, *time_measured_ms);
}

}  // namespace refrain::accuracy
