// One row of a recipe table as assignments and notes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/recipes/assigner.h"
#include "config/recipes/csv.h"

namespace refrain::config {

/// The tables, in the order in which recipes are listed.
enum class RecipeTable { kBridge, kBridgeLibrary, kModelZoo };

/// The name of the table's file, without its ending.
std::string_view to_text(RecipeTable table);

/// A function's name where the source ends in one; else made of the row: model, task, GPUs,
/// precision, sequence length, parallel sizes and family, so that rows can be told apart.
std::string id_of(const CsvRecord& row);

/// The Hugging Face id among the row's notes; empty where there is none.
std::string hf_id_of(const CsvRecord& row);

/// Assigns what the row's columns say, in Megatron's names. What has no knob is appended to
/// `notes`.
void assign_row(RecipeTable table, const CsvRecord& row, Assigner& assign,
                std::vector<std::string>& notes);

}  // namespace refrain::config
