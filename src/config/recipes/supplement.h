// What the tables leave out: knobs for all rows of a kind, from data/recipes/supplements.csv.
#pragma once

#include <string>
#include <vector>

#include "config/recipes/assigner.h"

namespace refrain::config {

/// `subject` as in the file: "table:bridge_recipes", "model:step37", "recipe:...", ...
struct Supplement {
  std::string subject, knob;
  Value value;
};

/// In the file's order, parsed once.
const std::vector<Supplement>& supplements();

/// The knobs of one of `subjects`, in the file's order, so that later ones win.
std::vector<const Supplement*> supplements_of(const std::vector<std::string>& subjects);

/// The architecture that is the language model of `model`, where the file names one; else "".
std::string architecture_inside(const std::string& model);

}  // namespace refrain::config
