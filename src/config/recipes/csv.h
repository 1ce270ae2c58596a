// Comma-separated values (RFC 4180), for tables of our own: text that breaks the format is our bug.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refrain::config {

using CsvRow = std::vector<std::string>;

/// The rows of `text`. A field in quotes may hold commas, line ends and, doubled, quotes. The last
/// line end may be missing; empty text has no rows.
std::vector<CsvRow> parse_csv(std::string_view text);

/// A row that is read by column name. It refers to the table it is from.
class CsvRecord {
 public:
  CsvRecord(const CsvRow& columns, const CsvRow& fields) : columns_(&columns), fields_(&fields) {}

  const std::string& operator[](std::string_view column) const;

 private:
  const CsvRow* columns_;
  const CsvRow* fields_;
};

/// Rows of equal length under a first one that names the columns.
class CsvTable {
 public:
  explicit CsvTable(std::string_view text);

  std::vector<CsvRecord> records() const;

 private:
  std::vector<CsvRow> rows_;
};

}  // namespace refrain::config
