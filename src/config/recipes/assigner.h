// From cells of our tables to assignments.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "config/knobs/assignment.h"

namespace refrain::config {

/// null, true or false (in either case), a whole or a real number; anything else is text.
Value scalar_of(std::string_view cell);

/// The words of a cell, which may be "[]", as a list.
Value words_of(std::string_view cell, char separator = ' ');

/// Collects assignments of one place. A cell that is empty assigns nothing.
class Assigner {
 public:
  /// `place`: a recipe's id or an architecture's name.
  explicit Assigner(std::string place);

  void set(std::string_view knob, Value value);
  void set_scalar(std::string_view knob, std::string_view cell);
  void set_words(std::string_view knob, std::string_view cell, char separator = ' ');
  void append(const Assignments& more);

  /// The value that counts; null where there is none.
  const Value* find(std::string_view knob) const;

  Assignments take() &&;

 private:
  Source source_;
  Assignments assignments_;
};

}  // namespace refrain::config
