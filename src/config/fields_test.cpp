#include "config/fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace refrain::config {
namespace {

TEST(Fields, OfAModelDifferWhereverTheModelDiffers) {
  const ModelConfig base = ModelConfig{.name = "small", .num_layers = 2, .hidden = 64};
  const auto num_changed = [&](auto change) {
    ModelConfig other = base;
    change(other);
    const Fields a = fields_of(base), b = fields_of(other);
    return std::ranges::count_if(
        a, [&](const auto& field) { return b.at(field.first) != field.second; });
  };
  using M = ModelConfig;
  EXPECT_EQ(num_changed([](M& m) { m.name = "x"; }), 1);
  EXPECT_EQ(num_changed([](M& m) { ++m.num_layers; }), 1);
  EXPECT_EQ(num_changed([](M& m) { ++m.hidden; }), 1);
  EXPECT_EQ(num_changed([](M& m) { ++m.num_heads; }), 1);
  EXPECT_EQ(num_changed([](M& m) { ++m.num_kv_heads; }), 1);
  EXPECT_EQ(num_changed([](M& m) { ++m.head_dim; }), 1);
  EXPECT_EQ(num_changed([](M& m) { ++m.ffn_hidden; }), 1);
  EXPECT_EQ(num_changed([](M& m) { ++m.vocab; }), 1);
  EXPECT_EQ(num_changed([](M& m) { ++m.max_positions; }), 1);
  EXPECT_EQ(num_changed([](M& m) { m.norm = NormKind::kLayerNorm; }), 1);
  EXPECT_EQ(num_changed([](M& m) { m.norm_eps = std::nextafter(m.norm_eps, 1); }), 1);
  EXPECT_EQ(num_changed([](M& m) { m.position = PositionKind::kLearned; }), 1);
  EXPECT_EQ(num_changed([](M& m) { m.rope_base = std::nextafter(m.rope_base, 0); }), 1);
  EXPECT_EQ(num_changed([](M& m) { m.activation = ActivationKind::kGeluErf; }), 1);
  EXPECT_EQ(num_changed([](M& m) { m.activation = ActivationKind::kGeluTanh; }), 1);
  EXPECT_EQ(num_changed([](M& m) { m.qkv_bias = true; }), 1);
  EXPECT_EQ(num_changed([](M& m) { m.linear_bias = true; }), 1);
  EXPECT_EQ(num_changed([](M& m) { m.qk_norm = true; }), 1);
  EXPECT_EQ(num_changed([](M& m) { m.tied_embeddings = true; }), 1);
}

TEST(Fields, OfAShapeDifferWhereverTheShapeDiffers) {
  const RunShape base;
  const auto num_changed = [&](auto change) {
    RunShape other = base;
    change(other);
    const Fields a = fields_of(base), b = fields_of(other);
    return std::ranges::count_if(
        a, [&](const auto& field) { return b.at(field.first) != field.second; });
  };
  using S = RunShape;
  EXPECT_EQ(num_changed([](S& s) { ++s.micro_batch; }), 1);
  EXPECT_EQ(num_changed([](S& s) { ++s.seq; }), 1);
  EXPECT_EQ(num_changed([](S& s) { ++s.num_micro_batches; }), 1);
  EXPECT_EQ(num_changed([](S& s) { s.precision = Precision::kBf16; }), 1);
  EXPECT_EQ(num_changed([](S& s) { s.attention = AttentionBackend::kUnfused; }), 1);
  EXPECT_EQ(num_changed([](S& s) { s.dropout = 0.1; }), 1);
  EXPECT_EQ(num_changed([](S& s) { s.clip_grad = 1; }), 1);
  EXPECT_EQ(num_changed([](S& s) { ++s.threads; }), 1);
}

TEST(Fields, DifferencesNameTheFieldAndBothValues) {
  EXPECT_EQ(differences({{"hidden", "512"}}, {{"hidden", "768"}, {"seq", "8"}}, "in the file"),
            "hidden: 512 in the file, 768 asked for; seq: absent in the file, 8 asked for");
  EXPECT_EQ(differences({{"hidden", "512"}}, {{"hidden", "512"}}, "in the file"), "");
}

}  // namespace
}  // namespace refrain::config
