#include "accuracy/measured/recipe_match.h"

#include <algorithm>

#include "config/scan.h"

namespace refrain::accuracy {
namespace {

using config::Recipe;

/// The tables differ in a few tokens.
std::string_view precision_token(std::string_view token) {
  return token == "mxfp8" ? "fp8mx" : token;
}

bool has_key(const Recipe& recipe, const RecipeKey& key) {
  const bool is_variant =
      std::any_of(recipe.notes.begin(), recipe.notes.end(),
                  [](const std::string& note) { return note.starts_with("variant"); });
  return !is_variant && recipe.architecture == key.architecture && recipe.gpu == key.gpu &&
         precision_token(recipe.precision) == key.precision && recipe.task == key.task;
}

bool same(const Parallelism& a, const Parallelism& b) {
  return a.tensor == b.tensor && a.pipeline == b.pipeline && a.context == b.context &&
         a.virtual_stages == b.virtual_stages && a.expert == b.expert;
}

}  // namespace

const Recipe* recipe_in(std::string_view notes) {
  constexpr std::string_view kBefore = "recipe ";
  for (size_t at = notes.find(kBefore); at != std::string_view::npos;
       at = notes.find(kBefore, at + 1)) {
    std::string_view word = notes.substr(at + kBefore.size());
    word = word.substr(0, word.find_first_of(" ;,"));
    if (const Recipe* recipe = config::recipe_named(word)) return recipe;
  }
  return nullptr;
}

const Recipe* matching_recipe(const RecipeKey& key, const Parallelism& parallelism,
                              int64_t micro_batch) {
  for (const Recipe& recipe : config::recipes()) {
    if (has_key(recipe, key) && same(parallelism_of(recipe), parallelism) &&
        recipe_whole(recipe, "micro_batch_size", 1) == micro_batch) {
      return &recipe;
    }
  }
  return nullptr;
}

const Recipe* only_recipe(const RecipeKey& key) {
  const Recipe* found = nullptr;
  for (const Recipe& recipe : config::recipes()) {
    if (!has_key(recipe, key) || recipe.num_gpus != key.num_gpus) continue;
    if (found != nullptr) return nullptr;
    found = &recipe;
  }
  return found;
}

const config::Value* recipe_value(const Recipe& recipe, std::string_view knob) {
  for (auto each = recipe.assignments.rbegin(); each != recipe.assignments.rend(); ++each) {
    if (each->knob == knob) return &each->value;
  }
  return nullptr;
}

int64_t recipe_whole(const Recipe& recipe, std::string_view knob, int64_t fallback) {
  const config::Value* value = recipe_value(recipe, knob);
  return value && value->is_number_integer() ? value->get<int64_t>() : fallback;
}

bool recipe_truth(const Recipe& recipe, std::string_view knob) {
  const config::Value* value = recipe_value(recipe, knob);
  return value && value->is_boolean() && value->get<bool>();
}

bool recipe_notes(const Recipe& recipe, std::string_view note) {
  return std::any_of(recipe.notes.begin(), recipe.notes.end(),
                     [&](const std::string& each) { return each.starts_with(note); });
}

mcore::Recompute recompute_of(const Recipe& recipe) {
  using Method = mcore::Recompute::Method;
  const auto text_of = [&](std::string_view knob) {
    const config::Value* value = recipe_value(recipe, knob);
    return value && value->is_string() ? value->get<std::string>() : std::string();
  };
  const std::string granularity = text_of("recompute_granularity");
  if (granularity == "full") {
    const bool block = text_of("recompute_method") == "block";
    return {.method = block ? Method::kBlock : Method::kUniform,
            .num_layers = recipe_whole(recipe, "recompute_num_layers", 1)};
  }
  if (granularity != "selective") return {};
  mcore::Recompute recompute{.method = Method::kSelective};
  const config::Value* modules = recipe_value(recipe, "recompute_modules");
  if (modules == nullptr || !modules->is_array()) {
    recompute.labels = {"core_attn"};  // Megatron-Core's default
    return recompute;
  }
  for (const config::Value& label : *modules) recompute.labels.insert(label.get<std::string>());
  return recompute;
}

std::string noted(const Recipe& recipe, std::string_view name) {
  for (const std::string& note : recipe.notes) {
    if (note.starts_with(name) && note.substr(name.size()).starts_with("=")) {
      return note.substr(name.size() + 1);
    }
  }
  return {};
}

Parallelism parallelism_of(const Recipe& recipe) {
  Parallelism made;
  made.tensor = recipe_whole(recipe, "tensor_model_parallel_size", 1);
  made.pipeline = recipe_whole(recipe, "pipeline_model_parallel_size", 1);
  made.virtual_stages = recipe_whole(recipe, "virtual_pipeline_model_parallel_size", 1);
  made.context = recipe_whole(recipe, "context_parallel_size", 1);
  made.expert = recipe_whole(recipe, "expert_model_parallel_size", 1);
  made.fsdp = recipe_notes(recipe, "megatron_fsdp");
  return made;
}

}  // namespace refrain::accuracy
