#include "plan/run_fields.h"

#include <gtest/gtest.h>

namespace refrain::plan {
namespace {

using config::Fields;

TEST(RunFields, EveryNamedModelReadsBack) {
  for (const config::ModelConfig& model : config::named_models()) {
    const auto read = model_of_fields(config::fields_of(model));
    ASSERT_TRUE(read.value) << model.name << to_text(read.findings);
    EXPECT_EQ(*read.value, model) << model.name;
  }
}

TEST(RunFields, AShapeReadsBackFieldByField) {
  const config::RunShape shape = {.micro_batch = 3,
                                  .seq = 17,
                                  .num_micro_batches = 5,
                                  .precision = config::Precision::kBf16,
                                  .attention = config::AttentionBackend::kUnfused,
                                  .dropout = 0.1,
                                  .clip_grad = 1.5,
                                  .threads = 7};
  const auto read = shape_of_fields(config::fields_of(shape));
  ASSERT_TRUE(read.value);
  EXPECT_EQ(config::fields_of(*read.value), config::fields_of(shape));
  EXPECT_EQ(read.value->dropout, 0.1);
}

TEST(RunFields, WhatIsMissingUnknownOrNoValueIsAFindingEach) {
  Fields fields = config::fields_of(config::RunShape{});
  fields.erase("seq");
  fields["precision"] = "f8";
  fields["threads"] = "many";
  fields["colour"] = "red";
  const auto read = shape_of_fields(fields);
  EXPECT_FALSE(read.value);
  ASSERT_EQ(read.findings.size(), 4u);
  for (const Finding& finding : read.findings) EXPECT_EQ(finding.rule, "plan.run");
}

}  // namespace
}  // namespace refrain::plan
