#include "mcore/run.h"

#include <gtest/gtest.h>

namespace refrain::mcore {
namespace {

Run pipeline_of(int64_t layers, int64_t ranks, int64_t virtual_stages) {
  mcore::Run run;
  run.model.layers.resize(static_cast<size_t>(layers));
  run.parallel.pipeline = ranks;
  run.parallel.virtual_stages = virtual_stages;
  return run;
}

TEST(Run, TakesAtLeastOneMicroBatch) {
  mcore::Run run;
  run.batch = {.micro = 4, .global = 32};
  run.parallel.data = 4;
  EXPECT_EQ(num_micro_batches(run), 2);
  run.parallel.data = 8;
  EXPECT_EQ(num_micro_batches(run), 1);
  run.parallel.data = 16;
  EXPECT_EQ(num_micro_batches(run), 1);
}

TEST(Run, PadsTheVocabularyToAMultipleForEachTensorRank) {
  mcore::Run run;
  run.model.vocab = 50257;
  EXPECT_EQ(padded_vocab(run), 50304);
  run.parallel.tensor = 2;
  EXPECT_EQ(padded_vocab(run), 50432);
  run.model.vocab = 50432;
  EXPECT_EQ(padded_vocab(run), 50432);
}

TEST(Run, StagesGoRoundTheRanksOncePerVirtualStage) {
  const mcore::Run run = pipeline_of(16, 4, 2);
  const StageLayers second = stage_layers(run, 1, 0);
  EXPECT_EQ(second.first, 2);
  EXPECT_EQ(second.count, 2);
  EXPECT_EQ(stage_layers(run, 0, 1).first, 8);
  EXPECT_EQ(stage_layers(run, 3, 1).first, 14);
}

TEST(Run, EmbeddingAndLossTakeTheirPlacesFromTheFirstAndTheLastChunk) {
  mcore::Run run = pipeline_of(14, 4, 2);
  run.parallel.embedding_counts = run.parallel.loss_counts = true;
  EXPECT_EQ(stage_layers(run, 0, 0).count, 1);
  EXPECT_EQ(stage_layers(run, 1, 0).first, 1);
  EXPECT_EQ(stage_layers(run, 1, 0).count, 2);
  EXPECT_EQ(stage_layers(run, 3, 1).count, 1);
  EXPECT_EQ(stage_layers(run, 3, 1).first, 13);
}

TEST(Run, ALayoutSaysHowManyLayersEachChunkHas) {
  mcore::Run run = pipeline_of(10, 2, 2);
  run.parallel.layout = {{1, 4}, {5, 0}};
  EXPECT_EQ(stage_layers(run, 0, 1).first, 5);
  EXPECT_EQ(stage_layers(run, 0, 1).count, 5);
  EXPECT_EQ(stage_layers(run, 1, 1).first, 10);
  EXPECT_EQ(stage_layers(run, 1, 1).count, 0);
}

}  // namespace
}  // namespace refrain::mcore
