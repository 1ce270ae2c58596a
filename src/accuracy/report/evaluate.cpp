#include "accuracy/report/evaluate.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "accuracy/ci/ci_row.h"
#include "accuracy/measured/measured_row.h"
#include "accuracy/report/predict.h"
#include "accuracy/rows/table.h"
#include "config/scan.h"

namespace refrain::accuracy {
namespace {

/// A kind of table: what it must have, and how its rows are read.
struct Kind {
  std::span<const std::string_view> columns;
  Checked<Sample> (*read)(const Table&, size_t);
  std::string (*name)(const RowReader&);
};
constexpr Kind kKinds[] = {{kCiColumns, read_ci_row, name_of_ci_row},
                           {kMeasuredColumns, read_measured_row, name_of_measured_row}};

std::vector<std::string> missing(const Kind& kind, const Table& table) {
  std::vector<std::string> columns;
  for (const std::string_view column : kind.columns) {
    if (!table.has(column)) columns.emplace_back(column);
  }
  return columns;
}

/// The kind whose columns the table has; the one it is nearest to says what is missing.
Checked<const Kind*> kind_of(const Table& table) {
  std::vector<std::string> least = missing(kKinds[0], table);
  for (const Kind& kind : kKinds) {
    std::vector<std::string> columns = missing(kind, table);
    if (columns.empty()) return Checked<const Kind*>::accept(&kind);
    if (columns.size() < least.size()) least = std::move(columns);
  }
  return Checked<const Kind*>::reject(
      {{"accuracy.missing-column",
        fmt::format("a table of measured runs must have more columns: {}", config::joined(least)),
        "see data/accuracy/README.md for what they mean"}});
}

Outcome outcome_of(const Kind& kind, const Table& table, size_t index) {
  const RowReader row(table, index);
  Outcome outcome{.row = row.number(), .name = kind.name(row)};
  Checked<Sample> sample = kind.read(table, index);
  if (sample.value) return predict(*sample.value, std::move(outcome));
  for (const Finding& finding : sample.findings) {
    const bool names_nearest = finding.rule == "architecture.unknown";
    outcome.add_reason(names_nearest ? fmt::format("{} ({})", finding.message, finding.remedy)
                                     : finding.message);
  }
  return outcome;
}

}  // namespace

Checked<std::vector<Outcome>> evaluate(std::string_view text) {
  const Checked<Table> table = read_table(text);
  if (!table.value) return Checked<std::vector<Outcome>>::reject(table.findings);
  const Checked<const Kind*> kind = kind_of(*table.value);
  if (!kind.value) return Checked<std::vector<Outcome>>::reject(kind.findings);
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < table.value->rows.size(); ++i) {
    outcomes.push_back(outcome_of(**kind.value, *table.value, i));
  }
  return Checked<std::vector<Outcome>>::accept(std::move(outcomes));
}

}  // namespace refrain::accuracy
