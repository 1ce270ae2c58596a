// Plain text tables: columns as wide as their widest cell, numbers flush right.
#pragma once

#include <string>
#include <vector>

namespace refrain {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

/// Collects rows, then prints them under a header and a rule. Widths count UTF-8 code points.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns);

  /// One cell a column (RC_CHECK).
  void add_row(std::vector<std::string> cells);

  /// Header, rule, rows; two spaces between columns, no trailing blanks, a newline after each line.
  std::string to_text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace refrain
