// JSON from a file that may be damaged or hostile.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

namespace refrain::train {

/// What is wrong with a text, for people; completes "FILE ...".
struct Complaint {
  std::string text;
};

/// Parses a whole text. Refused: what is not JSON (invalid UTF-8 included), a name that stands
/// twice in an object, and nesting deeper than `max_depth` objects or arrays.
std::variant<nlohmann::json, Complaint> parse_strict_json(std::string_view text, int max_depth);

}  // namespace refrain::train
