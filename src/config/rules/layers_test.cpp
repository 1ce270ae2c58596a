#include "config/rules/layers.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

TEST(LayerKinds, FollowTheFrequency) {
  Knobs k;
  k.num_layers = 4;
  k.num_moe_experts = 8;
  k.moe_layer_freq = int64_t{2};
  const auto kinds = layer_kinds(k);
  ASSERT_EQ(kinds.size(), 4u);
  EXPECT_TRUE(kinds[0].has_experts);
  EXPECT_FALSE(kinds[1].has_experts);
  k.moe_layer_freq = std::vector<int64_t>{0, 1, 1, 1};
  EXPECT_FALSE(layer_kinds(k)[0].has_experts);
  EXPECT_TRUE(layer_kinds(k)[1].has_experts);
  k.num_moe_experts.reset();
  EXPECT_FALSE(layer_kinds(k)[1].has_experts);
  k.num_layers = 0;
  EXPECT_TRUE(layer_kinds(k).empty());
}

TEST(LayerKinds, BesideADeltaNetSomeLayersKeepSoftmax) {
  Knobs k;
  k.num_layers = 4;
  k.experimental_attention_variant = "gated_delta_net";
  k.linear_attention_freq = int64_t{4};
  EXPECT_FALSE(layer_kinds(k)[2].softmax_attention);
  EXPECT_TRUE(layer_kinds(k)[3].softmax_attention);
  k.linear_attention_freq = std::vector<int64_t>{0, 1, 1, 1};
  EXPECT_TRUE(layer_kinds(k)[0].softmax_attention);
  EXPECT_FALSE(layer_kinds(k)[3].softmax_attention);
}

Knobs model(int64_t layers, int64_t ranks, std::optional<int64_t> chunks = {}) {
  Knobs k;
  k.num_layers = layers;
  k.pipeline_model_parallel_size = ranks;
  k.virtual_pipeline_model_parallel_size = chunks;
  return k;
}

std::vector<int64_t> layers_of(const Knobs& k) {
  std::vector<int64_t> layers;
  for (const Chunk& chunk : chunks_of(k)) layers.push_back(chunk.layers);
  return layers;
}

bool is_placed(Knobs k, std::string layout) {
  k.pipeline_model_parallel_layout = std::move(layout);
  return !chunks_of(k).empty();
}

TEST(Chunks, AreVisitedRankByRankAndThenChunkByChunk) {
  EXPECT_EQ(chunks_of(model(16, 2, 2)),
            (std::vector<Chunk>{{0, 0, 0, 4}, {1, 0, 4, 4}, {0, 1, 8, 4}, {1, 1, 12, 4}}));
}

TEST(Chunks, TheEndsMayHaveOtherNumbersOfLayers) {
  Knobs k = model(94, 4);
  k.num_layers_in_last_pipeline_stage = 22;
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{24, 24, 24, 22}));
  k.num_layers_in_first_pipeline_stage = 22;
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{22, 25, 25, 22}));
}

TEST(Chunks, EmbeddingAndLossMayCountAsLayers) {
  Knobs k = model(6, 2, 2);
  k.account_for_embedding_in_pipeline_split = true;
  k.account_for_loss_in_pipeline_split = true;
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{1, 2, 2, 1}));
}

TEST(Chunks, AnExplicitLayoutIsReadWithItsRepetitions) {
  Knobs k = model(61, 16);
  k.pipeline_model_parallel_layout = "Et*4|(tttt|)*14tmL";
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1}));
  k = model(14, 4);
  k.pipeline_model_parallel_layout = "Ett|(tt|)*6mL";
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{2, 2, 2, 2, 2, 2, 2, 0}));
}

TEST(Chunks, ALayoutThatDoesNotFitPlacesNothing) {
  const Knobs k = model(4, 2);
  EXPECT_TRUE(is_placed(k, "Ett|ttL"));
  EXPECT_TRUE(is_placed(k, "Ett,|t*2,L"));
  for (const char* layout :
       {"Ett|tL", "Ett|t|tL", "Ext|ttL", "E(tt|ttL", "Ett)|ttL", "Et*|tL", "Et*99999999999|tL"}) {
    EXPECT_FALSE(is_placed(k, layout)) << layout;
  }
  EXPECT_FALSE(is_placed(k, std::string(1000, '(')));
}

TEST(Chunks, ASplitThatDoesNotDividePlacesNothing) {
  EXPECT_TRUE(chunks_of(model(7, 2)).empty());
  EXPECT_TRUE(chunks_of(model(8, 2, 3)).empty());
  EXPECT_FALSE(chunks_of(model(8, 2, 4)).empty());
}

TEST(Chunks, EndsWithMoreLayersThanTheModelPlaceNothing) {
  Knobs k = model(4, 2);
  k.num_layers_in_first_pipeline_stage = 3;
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{3, 1}));
  for (const int64_t layers : {int64_t{5}, int64_t{8}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    k.num_layers_in_first_pipeline_stage = layers;
    EXPECT_TRUE(chunks_of(k).empty()) << layers;
  }
}

TEST(Chunks, WithoutAModelThereAreNone) {
  EXPECT_TRUE(chunks_of(model(0, 2)).empty());
  EXPECT_TRUE(chunks_of(model(8, 0)).empty());
  EXPECT_TRUE(chunks_of(model(8, INT64_MAX, INT64_MAX)).empty());
  EXPECT_TRUE(chunks_of(model(INT64_MAX, 1)).empty());
}

}  // namespace
}  // namespace refrain::config
