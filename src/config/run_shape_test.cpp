#include "config/run_shape.h"

#include <gtest/gtest.h>

#include <limits>

namespace refrain::config {
namespace {

ModelConfig model_named(const std::string& name) { return find_model(name).value.value(); }

std::string first_rule(const ModelConfig& model, const RunShape& shape) {
  const Findings findings = validate(model, shape);
  return findings.empty() ? "" : findings[0].rule;
}

std::string first_rule(const RunShape& shape) {
  return first_rule(model_named("llama-tiny"), shape);
}

template <class Number>
RunShape with(Number RunShape::*member, Number value) {
  RunShape shape;
  shape.*member = value;
  return shape;
}

TEST(RunShape, TheDefaultsPass) { EXPECT_EQ(first_rule(RunShape{}), ""); }

TEST(RunShape, SizesHaveBothEnds) {
  for (int64_t RunShape::*size :
       {&RunShape::micro_batch, &RunShape::seq, &RunShape::num_micro_batches, &RunShape::threads}) {
    EXPECT_EQ(first_rule(with(size, int64_t{1})), "");
    EXPECT_EQ(first_rule(with(size, int64_t{0})), "shape.size-out-of-range");
    EXPECT_EQ(first_rule(with(size, int64_t{-1})), "shape.size-out-of-range");
    EXPECT_EQ(first_rule(with(size, INT64_MAX)), "shape.size-out-of-range");
    EXPECT_EQ(first_rule(with(size, INT64_MIN)), "shape.size-out-of-range");
  }
  EXPECT_EQ(first_rule(with(&RunShape::threads, int64_t{1024})), "");
  EXPECT_EQ(first_rule(with(&RunShape::threads, int64_t{1025})), "shape.size-out-of-range");
}

TEST(RunShape, EveryBrokenSizeIsToldAtOnce) {
  RunShape shape;
  shape.micro_batch = 0;
  shape.seq = 0;
  shape.dropout = 2;
  shape.threads = 0;
  EXPECT_EQ(validate(model_named("llama-tiny"), shape).size(), 4u);
}

TEST(RunShape, TheSequenceStaysWithinThePositions) {
  EXPECT_EQ(first_rule(with(&RunShape::seq, int64_t{512})), "");
  EXPECT_EQ(first_rule(with(&RunShape::seq, int64_t{513})), "shape.sequence-exceeds-positions");
}

TEST(RunShape, DropoutIsAProbabilityBelowOne) {
  for (const double p : {0.0, 0.1, 0.999}) {
    EXPECT_EQ(first_rule(with(&RunShape::dropout, p)), "") << p;
  }
  for (const double p : {1.0, -0.001, 2.0, std::numeric_limits<double>::quiet_NaN(),
                         std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(first_rule(with(&RunShape::dropout, p)), "shape.dropout") << p;
  }
}

TEST(RunShape, ClippingIsZeroOrANorm) {
  for (const double norm : {0.0, 1e-9, 1.0, 1e30}) {
    EXPECT_EQ(first_rule(with(&RunShape::clip_grad, norm)), "") << norm;
  }
  for (const double norm : {-1e-9, 1e31, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(first_rule(with(&RunShape::clip_grad, norm)), "shape.clip-grad") << norm;
  }
}

TEST(RunShape, AStepMustFit64BitsOfBytes) {
  const ModelConfig largest = model_named("llama3-405b");
  RunShape shape;
  shape.seq = 8192;
  shape.micro_batch = 16;
  shape.attention = AttentionBackend::kUnfused;
  EXPECT_EQ(first_rule(largest, shape), "");
  shape.micro_batch = int64_t{1} << 20;
  EXPECT_EQ(first_rule(largest, shape), "shape.too-large");
}

TEST(RunShape, UnfusedScoresCountAndFusedOnesDoNot) {
  ModelConfig model = model_named("llama-tiny");
  model.max_positions = INT32_MAX;
  RunShape shape;
  shape.seq = INT32_MAX;
  EXPECT_EQ(first_rule(model, shape), "");
  shape.attention = AttentionBackend::kUnfused;
  EXPECT_EQ(first_rule(model, shape), "shape.too-large");
}

TEST(RunShape, AProgramHasAGreatestLength) {
  const ModelConfig model = model_named("llama-tiny");  // four layers
  EXPECT_EQ(first_rule(with(&RunShape::num_micro_batches, int64_t{25000})), "");
  EXPECT_EQ(first_rule(with(&RunShape::num_micro_batches, int64_t{25001})),
            "shape.program-too-long");
}

TEST(RunShape, ABrokenModelIsToldBeforeAnythingIsMultiplied) {
  ModelConfig model = model_named("llama-tiny");
  model.hidden = INT64_MAX;
  model.vocab = INT64_MAX;
  const Findings findings = validate(model, RunShape{});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "model.size-out-of-range");
}

TEST(RunShape, NamesOfPrecisionsAndBackEnds) {
  EXPECT_EQ(to_text(Precision::kF32), "f32");
  EXPECT_EQ(to_text(Precision::kBf16), "bf16");
  EXPECT_EQ(to_text(Precision::kF64), "f64");
  EXPECT_EQ(to_text(AttentionBackend::kFused), "fused");
  EXPECT_EQ(to_text(AttentionBackend::kUnfused), "unfused");
}

}  // namespace
}  // namespace refrain::config
