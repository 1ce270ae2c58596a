#include "accuracy/rows/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "config/inputs/values/reading.h"
#include "config/scan.h"

namespace refrain::accuracy {
namespace {

using config::in_quotes;

enum class Place { kFieldStart, kPlain, kQuoted, kAfterQuote };

/// Where a character leads; nothing where it may not stand there (RFC 4180).
std::optional<Place> after(Place place, char c) {
  if (place == Place::kQuoted) return c == '"' ? Place::kAfterQuote : Place::kQuoted;
  if (c == ',' || c == '\n') return Place::kFieldStart;
  if (c == '"' && place == Place::kFieldStart) return Place::kQuoted;
  if (c == '"' && place == Place::kAfterQuote) return Place::kQuoted;  // doubled: a quote
  if (c == '"' || place == Place::kAfterQuote) return std::nullopt;
  return Place::kPlain;
}

/// The line on which `text` stops being comma-separated values; nothing where it is that.
std::optional<int64_t> malformed_line(std::string_view text) {
  int64_t line = 1;
  Place place = Place::kFieldStart;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool line_end = text.substr(i).starts_with("\r\n");
    if (place != Place::kQuoted && text[i] == '\r' && !line_end) return line;
    if (place != Place::kQuoted && line_end) ++i;
    const std::optional<Place> next = after(place, text[i]);
    if (!next) return line;
    place = *next;
    if (text[i] == '\n') ++line;
  }
  return place == Place::kQuoted ? std::optional(line) : std::nullopt;
}

Checked<Table> reject(std::string rule, std::string message, std::string remedy) {
  return Checked<Table>::reject({{std::move(rule), std::move(message), std::move(remedy)}});
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// "8" and "8.0" are 8.
std::optional<int64_t> whole_of(std::string_view text) {
  if (const auto number = config::parse_whole(text)) return number;
  const auto real = config::parse_real(text);
  constexpr double kExact = 9007199254740992;  // 2^53: whole numbers below it have no neighbours
  if (!real || std::abs(*real) > kExact || *real != std::floor(*real)) return std::nullopt;
  return static_cast<int64_t>(*real);
}

const std::string* cell(const config::CsvRow& columns, const config::CsvRow& fields,
                        std::string_view column) {
  const auto found = std::find(columns.begin(), columns.end(), column);
  const auto index = static_cast<size_t>(found - columns.begin());
  return index < fields.size() ? &fields[index] : nullptr;
}

/// The value of `name` in "name=value name=value".
std::string_view argument(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.starts_with(name) && word.substr(name.size()).starts_with("=")) {
      return word.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

bool Table::has(std::string_view column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

Checked<Table> read_table(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (const auto bad = config::first_bad_byte(text)) {
    return reject("accuracy.not-text",
                  fmt::format("a table must be UTF-8 text: byte {} is not", *bad),
                  "save it as comma-separated values in UTF-8");
  }
  if (const auto line = malformed_line(text)) {
    return reject("accuracy.malformed-csv",
                  fmt::format("a table must be comma-separated values: line {} is not", *line),
                  "put a field with quotes into quotes, and double those inside it");
  }
  std::vector<config::CsvRow> rows = config::parse_csv(text);
  std::erase_if(rows, [](const config::CsvRow& row) { return row.size() == 1 && row[0].empty(); });
  if (rows.empty()) {
    return reject("accuracy.empty-file", "a table must begin with the names of its columns",
                  "see refrain accuracy --help");
  }
  Table table{.columns = std::move(rows.front())};
  rows.erase(rows.begin());
  table.rows = std::move(rows);
  return Checked<Table>::accept(std::move(table));
}

RowReader::RowReader(const Table& table, size_t index)
    : number_(static_cast<int64_t>(index) + 1),
      columns_(&table.columns),
      fields_(&table.rows.at(index)) {
  if (fields_->size() == columns_->size()) return;
  findings_.push_back({"accuracy.ragged-row",
                       fmt::format("row {} must have a field for each of {} columns: it has {}",
                                   number_, columns_->size(), fields_->size()),
                       "quote fields that hold commas"});
}

std::string_view RowReader::text(std::string_view column) const {
  if (const std::string* found = cell(*columns_, *fields_, column)) {
    const std::string_view trimmed = config::trimmed(*found);
    if (!trimmed.empty()) return trimmed;
  }
  const std::string* others = cell(*columns_, *fields_, "other_args");
  return others ? argument(*others, column) : std::string_view();
}

bool RowReader::yes(std::string_view column) {
  const std::string word = lower(text(column));
  if (word == "true" || word == "yes" || word == "1") return true;
  if (!word.empty() && word != "false" && word != "no" && word != "0") {
    complain(column, "True, False or nothing");
  }
  return false;
}

std::optional<int64_t> RowReader::whole(std::string_view column, Range range) {
  const std::string_view word = text(column);
  if (word.empty()) return std::nullopt;
  const auto number = whole_of(word);
  if (number && *number >= range.least && *number <= range.most) return number;
  complain(column, fmt::format("a whole number from {} to {}", range.least, range.most));
  return std::nullopt;
}

int64_t RowReader::whole_or(std::string_view column, int64_t fallback, Range range) {
  return whole(column, range).value_or(fallback);
}

int64_t RowReader::required(std::string_view column, Range range) {
  if (!given(column)) {
    findings_.push_back({"accuracy.missing-cell",
                         fmt::format("row {} must have a value in {}", number_, column),
                         "fill it in"});
  }
  return whole(column, range).value_or(range.least);
}

std::optional<double> RowReader::real(std::string_view column) {
  const std::string_view word = text(column);
  if (word.empty()) return std::nullopt;
  const auto number = config::parse_real(word);
  if (number && std::isfinite(*number) && *number >= 0) return number;
  complain(column, "a number that is not negative");
  return std::nullopt;
}

std::vector<std::string> RowReader::words(std::string_view column) const {
  std::string plain(text(column));
  for (char& c : plain) {
    if (c == '[' || c == ']' || c == ',') c = ' ';
  }
  std::vector<std::string> words = config::split(plain, ' ');
  std::erase(words, "");
  return words;
}

void RowReader::complain(std::string_view column, std::string_view must) {
  const std::string message =
      fmt::format("{} of row {} must be {}: {}", column, number_, must, in_quotes(text(column)));
  const bool said = std::any_of(findings_.begin(), findings_.end(),
                                [&](const Finding& each) { return each.message == message; });
  if (said) return;  // some cells are read for two reasons
  findings_.push_back(
      {"accuracy.bad-cell", message, "correct the cell, or leave it empty for the default"});
}

void RowReader::add(Findings findings) {
  for (Finding& finding : findings) findings_.push_back(std::move(finding));
}

}  // namespace refrain::accuracy
