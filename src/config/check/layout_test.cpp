#include "config/check/layout.h"

#include <gtest/gtest.h>

namespace refrain::config {
namespace {

Knobs model(int64_t layers, int64_t ranks, std::optional<int64_t> chunks = {}) {
  Knobs k;
  k.num_layers = layers;
  k.pipeline_model_parallel_size = ranks;
  k.virtual_pipeline_model_parallel_size = chunks;
  return k;
}

std::vector<int64_t> layers_of(const Knobs& k) {
  std::vector<int64_t> layers;
  for (const Chunk& chunk : chunks_of(k).value.value_or(std::vector<Chunk>{})) {
    layers.push_back(chunk.layers);
  }
  return layers;
}

std::string finding_of(Knobs k, std::string layout) {
  k.pipeline_model_parallel_layout = std::move(layout);
  const auto chunks = chunks_of(k);
  return chunks.findings.empty() ? "none" : chunks.findings[0].rule;
}

TEST(Layout, ChunksAreVisitedRankByRankAndThenChunkByChunk) {
  const auto chunks = chunks_of(model(16, 2, 2)).value;
  ASSERT_TRUE(chunks);
  EXPECT_EQ(*chunks, (std::vector<Chunk>{{0, 0, 0, 4}, {1, 0, 4, 4}, {0, 1, 8, 4}, {1, 1, 12, 4}}));
}

TEST(Layout, TheEndsMayHaveOtherNumbersOfLayers) {
  Knobs k = model(94, 4);
  k.num_layers_in_last_pipeline_stage = 22;
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{24, 24, 24, 22}));
  k.num_layers_in_first_pipeline_stage = 22;
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{22, 25, 25, 22}));
}

TEST(Layout, EmbeddingAndLossMayCountAsLayers) {
  Knobs k = model(6, 2, 2);
  k.account_for_embedding_in_pipeline_split = true;
  k.account_for_loss_in_pipeline_split = true;
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{1, 2, 2, 1}));
}

TEST(Layout, AnExplicitOneIsReadWithItsRepetitions) {
  Knobs k = model(61, 16);
  k.pipeline_model_parallel_layout = "Et*4|(tttt|)*14tmL";
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1}));
  k = model(14, 4);
  k.pipeline_model_parallel_layout = "Ett|(tt|)*6mL";
  EXPECT_EQ(layers_of(k), (std::vector<int64_t>{2, 2, 2, 2, 2, 2, 2, 0}));
}

TEST(Layout, OneThatDoesNotFitIsAFinding) {
  const Knobs k = model(4, 2);
  EXPECT_EQ(finding_of(k, "Ett|ttL"), "none");
  EXPECT_EQ(finding_of(k, "Ett,|t*2,L"), "none");
  EXPECT_EQ(finding_of(k, "Ett|tL"), "layout.unreadable");
  EXPECT_EQ(finding_of(k, "Ett|t|tL"), "layout.unreadable");
  EXPECT_EQ(finding_of(k, "Ext|ttL"), "layout.unreadable");
  EXPECT_EQ(finding_of(k, "E(tt|ttL"), "layout.unreadable");
  EXPECT_EQ(finding_of(k, "Ett)|ttL"), "layout.unreadable");
  EXPECT_EQ(finding_of(k, "Et*|tL"), "layout.unreadable");
  EXPECT_EQ(finding_of(k, "Et*99999999999|tL"), "layout.unreadable");
  EXPECT_EQ(finding_of(k, std::string(1000, '(')), "layout.unreadable");
}

TEST(Layout, WithoutAModelThereIsNone) {
  EXPECT_EQ(chunks_of(model(0, 2)).findings.at(0).rule, "layout.not-told");
  EXPECT_EQ(chunks_of(model(8, 0)).findings.at(0).rule, "layout.not-told");
  EXPECT_EQ(chunks_of(model(8, INT64_MAX, INT64_MAX)).findings.at(0).rule, "layout.not-told");
}

}  // namespace
}  // namespace refrain::config
