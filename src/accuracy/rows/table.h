// A user's table of measured runs: comma-separated values with names above, read cell by cell.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "config/recipes/csv.h"

namespace refrain::accuracy {

struct Table {
  config::CsvRow columns;
  std::vector<config::CsvRow> rows;  // those without any field are left out

  bool has(std::string_view column) const;
};

/// Reads the text of a file. Findings: `accuracy.empty-file`, `accuracy.not-text` (a byte that is
/// no UTF-8), `accuracy.malformed-csv` with the line. Rows may have too few or too many fields.
Checked<Table> read_table(std::string_view text);

/// Bounds of a number, both included. The default keeps products of a few sizes within 64 bits.
struct Range {
  int64_t least = 1, most = int64_t{1} << 32;
};

/// The cells of one row by column name. A cell that does not hold what it should becomes a finding
/// `accuracy.bad-cell` that names row, column and value, and reads as the fallback.
class RowReader {
 public:
  /// `index` counts from 0; `accuracy.ragged-row` where the row has not a field for each column.
  RowReader(const Table& table, size_t index);

  /// The row as people count it: the one below the names is 1.
  int64_t number() const { return number_; }

  /// Without blanks at both ends; "" where the cell is empty or there is no such column. What has
  /// no cell may stand in the column other_args, as `name=value` between blanks.
  std::string_view text(std::string_view column) const;
  bool given(std::string_view column) const { return !text(column).empty(); }

  /// True for true, yes and 1 in any case; false for false, no, 0 and nothing.
  bool yes(std::string_view column);
  std::optional<int64_t> whole(std::string_view column, Range range = {});
  int64_t whole_or(std::string_view column, int64_t fallback, Range range = {});
  /// The same, and a finding `accuracy.missing-cell` where there is nothing.
  int64_t required(std::string_view column, Range range = {});
  /// A number that is not negative.
  std::optional<double> real(std::string_view column);
  /// The words between blanks and commas, without square brackets around them.
  std::vector<std::string> words(std::string_view column) const;

  /// Says that the cell must hold something else.
  void complain(std::string_view column, std::string_view must);
  void add(Findings findings);

  const Findings& findings() const { return findings_; }

 private:
  int64_t number_ = 0;
  const config::CsvRow* columns_;
  const config::CsvRow* fields_;
  Findings findings_;
};

}  // namespace refrain::accuracy
