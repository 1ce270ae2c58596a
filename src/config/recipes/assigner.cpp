#include "config/recipes/assigner.h"

#include <utility>

#include "config/scan.h"

namespace refrain::config {

Value scalar_of(std::string_view cell) {
  if (cell == "null") return nullptr;
  if (cell == "true" || cell == "True") return true;
  if (cell == "false" || cell == "False") return false;
  if (const auto whole = parse_whole(cell)) return *whole;
  // "nan" and "inf" are words here.
  if (cell.find_first_of("0123456789") == 0) {
    if (const auto real = parse_real(cell)) return *real;
  }
  return std::string(cell);
}

Value words_of(std::string_view cell, char separator) {
  Value words = Value::array();
  if (cell == "[]") return words;
  for (std::string& word : split(cell, separator)) words.push_back(std::move(word));
  return words;
}

Assigner::Assigner(std::string place) : source_{Origin::kRecipe, std::move(place)} {
  assignments_.reserve(64);  // few recipes have more
}

void Assigner::set(std::string_view knob, Value value) {
  assignments_.push_back({std::string(knob), std::move(value), source_});
}

void Assigner::set_scalar(std::string_view knob, std::string_view cell) {
  if (!cell.empty()) set(knob, scalar_of(cell));
}

void Assigner::set_words(std::string_view knob, std::string_view cell, char separator) {
  if (!cell.empty()) set(knob, words_of(cell, separator));
}

void Assigner::append(const Assignments& more) {
  assignments_.insert(assignments_.end(), more.begin(), more.end());
}

const Value* Assigner::find(std::string_view knob) const {
  for (auto each = assignments_.rbegin(); each != assignments_.rend(); ++each) {
    if (each->knob == knob) return &each->value;
  }
  return nullptr;
}

Assignments Assigner::take() && {
  assignments_.shrink_to_fit();
  return std::move(assignments_);
}

}  // namespace refrain::config
