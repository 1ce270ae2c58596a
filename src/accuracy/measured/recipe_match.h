// The published recipe that a published measurement ran.
#pragma once

#include <string>
#include <string_view>

#include "accuracy/measured/parallelism.h"
#include "config/recipes/recipe.h"
#include "mcore/run.h"

namespace refrain::accuracy {

/// What a row says of itself, in the words of the recipe tables.
struct RecipeKey {
  std::string architecture;  // name of the Architecture
  std::string gpu;           // "gb200"
  std::string precision;     // "fp8mx"
  std::string task;          // "pretrain"
  int64_t num_gpus = 0;      // 0: not stated
};

/// The first word after "recipe " in `notes` that names a recipe; null where none does.
const config::Recipe* recipe_in(std::string_view notes);

/// The first recipe with this key, these parallel sizes and this micro-batch that is not a variant;
/// its number of GPUs need not be the row's. Null where there is none.
const config::Recipe* matching_recipe(const RecipeKey& key, const Parallelism& parallelism,
                                      int64_t micro_batch);

/// The only recipe with this key and number of GPUs that is not a variant; null otherwise.
const config::Recipe* only_recipe(const RecipeKey& key);

/// The value that counts; null where the recipe does not set the knob.
const config::Value* recipe_value(const config::Recipe& recipe, std::string_view knob);
int64_t recipe_whole(const config::Recipe& recipe, std::string_view knob, int64_t fallback);
bool recipe_truth(const config::Recipe& recipe, std::string_view knob);
bool recipe_notes(const config::Recipe& recipe, std::string_view note);
/// What stands behind "name=" in its notes; "" where that is not there.
std::string noted(const config::Recipe& recipe, std::string_view name);

/// Its recompute setting, and its parallel sizes.
mcore::Recompute recompute_of(const config::Recipe& recipe);
Parallelism parallelism_of(const config::Recipe& recipe);

}  // namespace refrain::accuracy
