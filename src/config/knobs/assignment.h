// What somebody wrote for knobs, in the order in which it counts, and where each was written.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace refrain::config {

/// A value as written: null, true or false, a whole or real number, text, a list of these. Null, an
/// empty list and a knob that is not mentioned are three different things.
using Value = nlohmann::json;

enum class Origin { kDefault, kRecipe, kFile, kFlag, kOverride };
std::string_view to_text(Origin origin);

/// Where a value comes from: `place` is a path with a line, a flag or an override as typed.
struct Source {
  Origin origin = Origin::kDefault;
  std::string place;

  bool operator==(const Source&) const = default;
};

/// One knob set, or taken away again (back to its default).
struct Assignment {
  std::string knob;  // as written, without a "cfg.", "model." or "--" before it
  Value value;
  Source source;
  bool removes = false;

  bool operator==(const Assignment&) const = default;
};

/// Later ones win.
using Assignments = std::vector<Assignment>;

}  // namespace refrain::config
