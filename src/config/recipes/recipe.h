// Published training recipes as assignments to Megatron's knobs: Megatron-Bridge's and those of
// Megatron-LM's model zoo, from the tables in data/recipes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

struct Recipe {
  /// Lower case, unique, stable. Megatron-Bridge's own function name where there is one; a library
  /// recipe whose name is a performance recipe's too ends in "_library".
  std::string id;
  std::string model, family;
  std::string task, gpu, precision;  // empty: the table does not say
  std::optional<int64_t> num_gpus;
  std::string architecture;  // name of its Architecture; empty: none is known
  std::string source;        // path, revision and function
  /// In the order in which they count: the architecture's, what the table leaves out (see
  /// supplement.h), the row's. Unset and an empty list are told apart.
  Assignments assignments;
  std::vector<std::string> notes;  // what has no knob
};

/// All, in the order of the tables; parsed once.
const std::vector<Recipe>& recipes();

/// Null where there is none.
const Recipe* recipe_named(std::string_view id);

/// A copy; where there is none, a finding `recipe.unknown` names the nearest, or recipes that have
/// the words of `id` in their names.
Checked<Recipe> find_recipe(std::string_view id);

/// Those whose id, model, family, gpu or precision contains each word, in any case.
std::vector<const Recipe*> filter_recipes(const std::vector<std::string>& words);

}  // namespace refrain::config
