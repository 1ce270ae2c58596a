#include "config/recipes/csv.h"

#include <utility>

#include "base/error.h"

namespace refrain::config {
namespace {

bool ends_plain(char c) { return c == ',' || c == '\n' || c == '\r' || c == '"'; }

/// Reads fields from the front of `left`; every read takes at least what ends the field.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : left_(text) {}

  bool done() const { return left_.empty(); }

  std::string field() { return !done() && left_.front() == '"' ? quoted() : plain(); }

  /// Takes what follows a field; true where the row goes on.
  bool goes_on() {
    if (done()) return false;
    if (left_.front() == ',') {
      left_.remove_prefix(1);
      return true;
    }
    const size_t length = line_end();
    RC_CHECK(length != 0, "after a field: {}", left_.substr(0, 40));
    left_.remove_prefix(length);
    return false;
  }

 private:
  /// Characters of the line end that `left_` begins with.
  size_t line_end() const {
    if (left_.starts_with("\n")) return 1;
    return left_.starts_with("\r\n") ? 2 : 0;
  }

  std::string plain() {
    size_t length = 0;
    while (length < left_.size() && !ends_plain(left_[length])) ++length;
    std::string field(left_.substr(0, length));
    left_.remove_prefix(length);
    RC_CHECK(done() || left_.front() != '"', "a quote after {}", field);
    return field;
  }

  std::string quoted() {
    std::string field;
    while (true) {  // once a quote inside: ends with the text at the latest
      const size_t quote = left_.find('"', 1);
      RC_CHECK(quote != std::string_view::npos, "no end of {}", left_.substr(0, 40));
      field += left_.substr(1, quote - 1);
      left_.remove_prefix(quote + 1);
      if (!left_.starts_with('"')) return field;
      field += '"';
    }
  }

  std::string_view left_;
};

}  // namespace

std::vector<CsvRow> parse_csv(std::string_view text) {
  std::vector<CsvRow> rows;
  Scanner scanner(text);
  while (!scanner.done()) {
    CsvRow row;
    if (!rows.empty()) row.reserve(rows.back().size());
    do {
      row.push_back(scanner.field());
    } while (scanner.goes_on());
    rows.push_back(std::move(row));
  }
  return rows;
}

const std::string& CsvRecord::operator[](std::string_view column) const {
  for (size_t i = 0; i < columns_->size(); ++i) {
    if ((*columns_)[i] == column) return (*fields_)[i];
  }
  RC_CHECK(false, "no column {}", column);
}

CsvTable::CsvTable(std::string_view text) : rows_(parse_csv(text)) {
  RC_CHECK(!rows_.empty(), "a table without columns");
  for (const CsvRow& row : rows_) {
    RC_CHECK(row.size() == rows_[0].size(), "{} fields under {} columns: {}", row.size(),
             rows_[0].size(), row[0]);
  }
}

std::vector<CsvRecord> CsvTable::records() const {
  std::vector<CsvRecord> records;
  for (size_t i = 1; i < rows_.size(); ++i) records.emplace_back(rows_[0], rows_[i]);
  return records;
}

}  // namespace refrain::config
