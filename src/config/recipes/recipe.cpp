#include "config/recipes/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "config/recipes/architecture.h"
#include "config/recipes/recipe_row.h"
#include "config/recipes/supplement.h"
#include "config/recipes/tables.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kLongestId = 200;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// By the model's name, by the one that supplements.csv gives for it, or by the row's Hugging Face
/// id.
const Architecture* architecture_for(const Recipe& recipe, const CsvRecord& row) {
  if (const Architecture* named = architecture_named(recipe.model)) return named;
  if (const std::string inside = architecture_inside(recipe.model); !inside.empty()) {
    const Architecture* named = architecture_named(inside);
    RC_CHECK(named != nullptr, "{} of {}", inside, recipe.model);
    return named;
  }
  const std::string hf_id = hf_id_of(row);
  return hf_id.empty() ? nullptr : architecture_named(hf_id);
}

void assign_supplements(RecipeTable table, const Recipe& recipe, Assigner& assign) {
  const std::string name(to_text(table));
  std::vector<std::string> subjects = {"table:" + name, "family:" + recipe.family,
                                       "model:" + recipe.model, "recipe:" + recipe.id};
  const auto assign_all = [&] {
    for (const Supplement* each : supplements_of(subjects)) assign.set(each->knob, each->value);
  };
  assign_all();
  if (!assign.find("num_moe_experts")) return;
  subjects = {"experts:" + name};
  assign_all();
}

Recipe recipe_of(RecipeTable table, const CsvRecord& row, std::string id) {
  Recipe made{.id = std::move(id),
              .model = row["model"],
              .family = row["family"],
              .task = row["task"],
              .gpu = row["gpu"],
              .precision = row["precision"],
              .num_gpus = parse_whole(row["num_gpus"]),
              .source = row["source_path"]};
  Assigner assign(made.id);
  if (const Architecture* architecture = architecture_for(made, row)) {
    made.architecture = architecture->name;
    assign.append(architecture->assignments);
  }
  assign_supplements(table, made, assign);
  assign_row(table, row, assign, made.notes);
  made.assignments = std::move(assign).take();
  return made;
}

using Positions = std::unordered_map<std::string, size_t>;

struct Catalogue {
  std::vector<Recipe> recipes;
  Positions by_id;
};

void add_table(RecipeTable table, std::string_view text, Catalogue& catalogue) {
  const CsvTable csv(text);
  for (const CsvRecord& row : csv.records()) {
    std::string id = id_of(row);
    if (table == RecipeTable::kBridgeLibrary && catalogue.by_id.contains(id)) id += "_library";
    const bool is_new = catalogue.by_id.emplace(id, catalogue.recipes.size()).second;
    RC_CHECK(is_new, "two recipes {}", id);
    catalogue.recipes.push_back(recipe_of(table, row, std::move(id)));
  }
}

const Catalogue& catalogue() {
  static const Catalogue all = [] {
    Catalogue made;
    add_table(RecipeTable::kBridge, kBridgeRecipesText, made);
    add_table(RecipeTable::kBridgeLibrary, kBridgeRecipesLibraryText, made);
    add_table(RecipeTable::kModelZoo, kMlmModelzooRecipesText, made);
    return made;
  }();
  return all;
}

bool has_word(const Recipe& recipe, const std::string& word) {
  for (const std::string* text :
       {&recipe.id, &recipe.model, &recipe.family, &recipe.gpu, &recipe.precision}) {
    if (in_lower_case(*text).find(word) != std::string::npos) return true;
  }
  return false;
}

std::optional<std::string> nearest_id(std::string_view id) {
  if (id.size() > kLongestId) return {};  // a distance to such a text says nothing, and is slow
  std::vector<std::string> ids;
  for (const Recipe& recipe : recipes()) ids.push_back(recipe.id);
  return nearest(in_lower_case(id), ids);
}

std::string remedy_for(std::string_view id) {
  if (!id.empty()) {
    const std::vector<const Recipe*> like = filter_recipes({std::string(id)});
    if (like.size() == 1) return fmt::format("did you mean {}?", like[0]->id);
    if (!like.empty()) {
      return fmt::format("name one of the {} that contain it, such as {}", like.size(),
                         like[0]->id);
    }
  }
  if (const auto near = nearest_id(id)) return fmt::format("did you mean {}?", *near);
  return fmt::format("name one such as {}", recipes()[0].id);
}

}  // namespace

const std::vector<Recipe>& recipes() { return catalogue().recipes; }

const Recipe* recipe_named(std::string_view id) {
  const auto found = catalogue().by_id.find(in_lower_case(id));
  return found == catalogue().by_id.end() ? nullptr : &recipes()[found->second];
}

Checked<Recipe> find_recipe(std::string_view id) {
  if (const Recipe* found = recipe_named(id)) return Checked<Recipe>::accept(*found);
  return Checked<Recipe>::reject({{"recipe.unknown",
                                   fmt::format("a recipe must be one of the {} known ones: {}",
                                               recipes().size(), in_quotes(id)),
                                   remedy_for(id)}});
}

std::vector<const Recipe*> filter_recipes(const std::vector<std::string>& words) {
  std::vector<const Recipe*> found;
  std::vector<std::string> lower;
  for (const std::string& word : words) lower.push_back(in_lower_case(word));
  for (const Recipe& recipe : recipes()) {
    const bool all = std::all_of(lower.begin(), lower.end(),
                                 [&](const std::string& word) { return has_word(recipe, word); });
    if (all) found.push_back(&recipe);
  }
  return found;
}

}  // namespace refrain::config
