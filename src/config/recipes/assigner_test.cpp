#include "config/recipes/assigner.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

TEST(Assigner, ScalarsAreNullFlagsNumbersOrText) {
  EXPECT_EQ(scalar_of("null"), Value());
  EXPECT_EQ(scalar_of("True"), true);
  EXPECT_EQ(scalar_of("false"), false);
  EXPECT_TRUE(scalar_of("64").is_number_integer());
  EXPECT_EQ(scalar_of("64"), 64);
  EXPECT_TRUE(scalar_of("1.0").is_number_float());
  EXPECT_EQ(scalar_of("1.5"), 1.5);
  for (const char* text : {"selective", "inf", "nan", "8gpu", "Et*4|(tttt|)*14tmL"}) {
    EXPECT_EQ(scalar_of(text), text);
  }
}

TEST(Assigner, WordsAreAListAndBracketsAnEmptyOne) {
  EXPECT_EQ(words_of("mlp"), Value::array({"mlp"}));
  EXPECT_EQ(words_of("moe layernorm"), Value::array({"moe", "layernorm"}));
  EXPECT_EQ(words_of("core_attn+attn_proj", '+'), Value::array({"core_attn", "attn_proj"}));
  EXPECT_EQ(words_of("[]"), Value::array());
}

TEST(Assigner, EmptyCellsAssignNothingAndTheLastAssignmentCounts) {
  Assigner assign("a place");
  assign.set_scalar("recompute_method", "");
  assign.set_words("recompute_modules", "");
  EXPECT_EQ(assign.find("recompute_method"), nullptr);
  EXPECT_EQ(assign.find("recompute_modules"), nullptr);
  assign.set_words("recompute_modules", "[]");
  assign.set_words("recompute_modules", "mlp");
  ASSERT_NE(assign.find("recompute_modules"), nullptr);
  EXPECT_EQ(*assign.find("recompute_modules"), Value::array({"mlp"}));
  const Assignments all = std::move(assign).take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0],
            (Assignment{"recompute_modules", Value::array(), Source{Origin::kRecipe, "a place"}}));
}

TEST(Assigner, WhatIsAppendedKeepsItsPlaceAndComesLast) {
  Assigner model("model"), row("row");
  model.set("bf16", true);
  row.set("bf16", false);
  row.append(std::move(model).take());
  EXPECT_EQ(*row.find("bf16"), true);
  const Assignments all = std::move(row).take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].source.place, "row");
  EXPECT_EQ(all[1].source.place, "model");
}

}  // namespace
}  // namespace refrain::config
