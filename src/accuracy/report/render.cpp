#include "accuracy/report/render.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text_table.h"

namespace refrain::accuracy {
namespace {

using Json = nlohmann::ordered_json;

Json bytes_json(std::optional<Bytes> bytes) { return bytes ? Json(bytes->count()) : Json(); }

Json number_json(std::optional<double> number) { return number ? Json(*number) : Json(); }

Json errors_json(const ErrorSummary& errors) {
  return {{"count", errors.count},
          {"median_abs_percent", errors.abs_median},
          {"p90_abs_percent", errors.abs_p90},
          {"median_signed_percent", errors.signed_median},
          {"worst_percent", errors.worst},
          {"under_predicted", errors.num_under}};
}

Json summary_json(const Summary& summary) {
  return {{"name", summary.name},
          {"rows", summary.num_rows},
          {"modelled", summary.num_modelled},
          {"peak", errors_json(summary.peak)},
          {"peak_upper",
           {{"count", summary.upper.count},
            {"under_predicted", summary.upper.num_under},
            {"median_slack_percent", summary.upper.signed_median}}},
          {"time", errors_json(summary.time)}};
}

std::string gib(std::optional<Bytes> bytes) {
  if (!bytes) return "-";
  return fmt::format("{:.3f}", static_cast<double>(bytes->count()) / (int64_t{1} << 30));
}

std::string percent(std::optional<double> number) {
  return number ? fmt::format("{:+.2f}", *number) : "-";
}

std::string milliseconds(std::optional<double> ms) { return ms ? fmt::format("{:.1f}", *ms) : "-"; }

std::vector<Column> summary_columns() {
  std::vector<Column> columns = {{"rows of"}};
  for (const char* title :
       {"rows", "modelled", "peaks", "median |%|", "p90 |%|", "worst %", "under", "under bound",
        "bound slack %", "times", "median |%|", "p90 |%|"}) {
    columns.push_back({title, Align::kRight});
  }
  return columns;
}

std::vector<std::string> summary_cells(const Summary& summary) {
  const auto whole = [](int64_t count) { return fmt::format("{}", count); };
  const auto real = [](const ErrorSummary& of, double number) {
    return of.count ? fmt::format("{:.2f}", number) : std::string("-");
  };
  return {summary.name,
          whole(summary.num_rows),
          whole(summary.num_modelled),
          whole(summary.peak.count),
          real(summary.peak, summary.peak.abs_median),
          real(summary.peak, summary.peak.abs_p90),
          real(summary.peak, summary.peak.worst),
          whole(summary.peak.num_under),
          whole(summary.upper.num_under),
          real(summary.upper, summary.upper.signed_median),
          whole(summary.time.count),
          real(summary.time, summary.time.abs_median),
          real(summary.time, summary.time.abs_p90)};
}

}  // namespace

std::string to_text(const Evaluated& evaluated) {
  const Align right = Align::kRight;
  TextTable rows({{"row", right},
                  {"peak GiB", right},
                  {"point", right},
                  {"bound", right},
                  {"error %", right},
                  {"ms", right},
                  {"predicted", right},
                  {"error %", right},
                  {"run"},
                  {"remarks"}});
  for (const Outcome& each : evaluated.outcomes) {
    const std::string remarks = each.modelled ? each.reason : "not modelled: " + each.reason;
    rows.add_row({fmt::format("{}", each.row), gib(each.peak_measured), gib(each.peak_point),
                  gib(each.peak_upper), percent(each.error_percent()),
                  milliseconds(each.time_measured_ms), milliseconds(each.time_ms),
                  percent(each.time_error_percent()), each.name, remarks});
  }
  TextTable sums(summary_columns());
  for (const Summary& summary : summarize(evaluated.outcomes)) sums.add_row(summary_cells(summary));
  return rows.to_text() + "\n" + sums.to_text();
}

std::string to_json_lines(const Evaluated& evaluated) {
  std::string lines;
  for (const Outcome& each : evaluated.outcomes) {
    const Json row = {{"row", each.row},
                      {"modelled", each.modelled},
                      {"reason", each.reason},
                      {"peak_point", bytes_json(each.peak_point)},
                      {"peak_upper", bytes_json(each.peak_upper)},
                      {"peak_measured", bytes_json(each.peak_measured)},
                      {"error_percent", number_json(each.error_percent())},
                      {"time_ms", number_json(each.time_ms)},
                      {"time_measured", number_json(each.time_measured_ms)},
                      {"time_error_percent", number_json(each.time_error_percent())},
                      {"family", each.family},
                      {"name", each.name}};
    lines += row.dump() + "\n";
  }
  Json sums = Json::array();
  for (const Summary& summary : summarize(evaluated.outcomes))
    sums.push_back(summary_json(summary));
  return lines + Json{{"file", evaluated.file}, {"summary", std::move(sums)}}.dump() + "\n";
}

}  // namespace refrain::accuracy
