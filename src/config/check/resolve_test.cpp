#include "config/check/resolve.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

Knobs full_knobs(int64_t layers, std::string method, int64_t count) {
  Knobs k;
  k.num_layers = layers;
  k.recompute_granularity = "full";
  k.recompute_method = std::move(method);
  k.recompute_num_layers = count;
  return k;
}

std::vector<ResolvedChunk> chunks_of_knobs(const Knobs& k) { return resolve(k, {}).chunks; }

TEST(Resolve, UniformClipsItsLastGroup) {
  const auto chunks = chunks_of_knobs(full_knobs(7, "uniform", 4));
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].groups, (std::vector<LayerSpan>{{0, 3}, {4, 6}}));
  EXPECT_TRUE(chunks[0].saved.empty());
}

TEST(Resolve, BlockTakesTheFirstLayersOfEveryChunk) {
  Knobs k = full_knobs(16, "block", 1);
  k.pipeline_model_parallel_size = 2;
  k.virtual_pipeline_model_parallel_size = 2;
  const auto chunks = chunks_of_knobs(k);
  ASSERT_EQ(chunks.size(), 4u);
  EXPECT_EQ(chunks[2].where, (Chunk{0, 1, 8, 4}));
  EXPECT_EQ(chunks[2].groups, (std::vector<LayerSpan>{{8, 8}}));
  EXPECT_EQ(chunks[2].saved, (std::vector<LayerSpan>{{9, 11}}));
}

TEST(Resolve, BlockOfMoreThanThereAreIsAll) {
  const auto chunks = chunks_of_knobs(full_knobs(3, "block", 9));
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].groups.size(), 3u);
  EXPECT_TRUE(chunks[0].saved.empty());
}

TEST(Resolve, BlockOfNoneOrFewerSavesEverything) {
  for (const int64_t count : {0, -1}) {
    const auto chunks = chunks_of_knobs(full_knobs(3, "block", count));
    ASSERT_EQ(chunks.size(), 1u);
    EXPECT_TRUE(chunks[0].groups.empty());
    EXPECT_EQ(chunks[0].saved, (std::vector<LayerSpan>{{0, 2}}));
  }
}

TEST(Resolve, UniformOfNoneEnds) {
  EXPECT_EQ(chunks_of_knobs(full_knobs(3, "uniform", 0)).size(), 1u);
  EXPECT_EQ(chunks_of_knobs(full_knobs(3, "uniform", INT64_MAX))[0].groups,
            (std::vector<LayerSpan>{{0, 2}}));
}

TEST(Resolve, LabelsAreToldByKindOfLayer) {
  Knobs k;
  k.num_layers = 4;
  k.num_moe_experts = 8;
  k.moe_layer_freq = std::vector<int64_t>{0, 1, 1, 1};
  k.recompute_granularity = "selective";
  k.recompute_modules = WordList{{"mlp", "moe_act"}};
  const auto chunks = chunks_of_knobs(k);
  ASSERT_EQ(chunks.size(), 1u);
  const auto& spans = chunks[0].selective;
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].layers, (LayerSpan{0, 0}));
  EXPECT_FALSE(spans[0].labels[0].inactive_because);
  EXPECT_TRUE(spans[0].labels[1].inactive_because);
  EXPECT_EQ(spans[1].layers, (LayerSpan{1, 3}));
  EXPECT_TRUE(spans[1].labels[0].inactive_because);
  EXPECT_FALSE(spans[1].labels[1].inactive_because);
}

TEST(Resolve, WithoutAModelThereIsNothing) {
  EXPECT_TRUE(chunks_of_knobs(Knobs{}).empty());
  EXPECT_TRUE(chunks_of_knobs(full_knobs(INT64_MAX, "uniform", 1)).empty());
}

TEST(Resolve, NothingRecomputedIsAllSaved) {
  Knobs k;
  k.num_layers = 4;
  EXPECT_EQ(chunks_of_knobs(k).at(0).saved, (std::vector<LayerSpan>{{0, 3}}));
  k.recompute_granularity = "selective";
  k.recompute_modules = WordList{};
  EXPECT_EQ(chunks_of_knobs(k).at(0).saved, (std::vector<LayerSpan>{{0, 3}}));
}

}  // namespace
}  // namespace refrain::config
