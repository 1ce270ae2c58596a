#include "base/text_table.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace refrain {
namespace {

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a UTF-8 continuation byte
  }));
}

std::string padded(const std::string& text, size_t width, Align align) {
  const size_t used = width_of(text);
  const std::string blanks(width > used ? width - used : 0, ' ');
  return align == Align::kLeft ? text + blanks : blanks + text;
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TextTable::add_row(std::vector<std::string> cells) {
  RC_CHECK(cells.size() == columns_.size(), "{} cells, {} columns", cells.size(), columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::to_text() const {
  std::vector<std::string> header;
  std::vector<std::string> rule;
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = width_of(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[c]));
    widths.push_back(width);
    header.push_back(columns_[c].title);
    rule.push_back(std::string(width, '-'));
  }
  std::string text;
  const auto print = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) line += "  ";
      line += padded(cells[c], widths[c], columns_[c].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  print(header);
  print(rule);
  for (const auto& row : rows_) print(row);
  return text;
}

}  // namespace refrain
