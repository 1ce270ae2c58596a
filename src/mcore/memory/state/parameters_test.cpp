#include "mcore/memory/state/parameters.h"

#include <gtest/gtest.h>

#include "mcore/memory/tape/gpt_example.h"

namespace refrain::mcore::memory {
namespace {

int64_t rank_elements(const mcore::Run& run, int64_t rank) {
  int64_t elements = 0;
  for (int64_t stage = 0; stage < run.parallel.virtual_stages; ++stage) {
    elements += num_elements(chunk_parameters(run, rank, stage));
  }
  return elements;
}

int64_t all_elements(const mcore::Run& run) {
  int64_t elements = 0;
  for (int64_t rank = 0; rank < run.parallel.pipeline; ++rank) elements += rank_elements(run, rank);
  return elements;
}

TEST(Parameters, OfTheExampleAreThoseOfItsPaperArithmetic) {
  EXPECT_EQ(all_elements(gpt_example()), 64'109'568);
}

TEST(Parameters, OfAllStagesAreTheModels) {
  mcore::Run run = gpt_example();
  run.model.tied_embeddings = false;
  const int64_t whole = all_elements(run);
  run.parallel.pipeline = 4;
  EXPECT_EQ(all_elements(run), whole);
  EXPECT_EQ(rank_elements(run, 3), 35'213'824);
  run.parallel.virtual_stages = 3;
  EXPECT_EQ(all_elements(run), whole);
}

TEST(Parameters, ATiedEmbeddingIsOnTheFirstAndTheLastStage) {
  mcore::Run run = gpt_example();
  const int64_t whole = all_elements(run);
  run.parallel.pipeline = 2;
  EXPECT_EQ(all_elements(run), whole + 50304 * 512);
  const std::vector<Parameter> first = chunk_parameters(run, 0, 0);
  EXPECT_TRUE(first.front().shared_embedding);
  EXPECT_TRUE(chunk_parameters(run, 1, 0).back().shared_embedding);
  run.parallel.pipeline = 1;
  EXPECT_FALSE(chunk_parameters(run, 0, 0).front().shared_embedding);
}

TEST(Parameters, TensorParallelDividesWeightsButNotNorms) {
  const mcore::Run one = gpt_example();
  mcore::Run two = one;
  two.parallel.tensor = 2;
  const auto whole = layer_parameters(one, {}), half = layer_parameters(two, {});
  ASSERT_EQ(whole.size(), half.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].quantized) {
      EXPECT_EQ(half[i].elements * 2, whole[i].elements) << i;
    }
  }
  EXPECT_EQ(half[0].elements, 512 * 256);  // output projection
  EXPECT_EQ(half[2].elements, 512);        // norm
}

TEST(Parameters, ExpertParallelRanksHoldTheirExpertsInABufferApart) {
  mcore::Run run = mixture_example(256);
  const auto expert_elements = [&] {
    int64_t elements = 0;
    for (const Parameter& parameter : layer_parameters(run, run.model.layers.front())) {
      if (parameter.expert) elements += parameter.elements;
    }
    return elements;
  };
  EXPECT_EQ(expert_elements(), 0);
  run.parallel.expert = 4;
  EXPECT_EQ(expert_elements(), 2 * 3 * 256 * 512);
}

TEST(Parameters, OfLatentAttentionAndSharedExpertsAddUp) {
  const mcore::Run run = mixture_example(256);
  const int64_t attention =
      512 + 8 * 32 * 512 + 512 * 96 + 96 + 96 * 8 * 48 + 512 * 80 + 64 + 64 * 8 * 64;
  const int64_t experts = 512 + 8 * 512 + 8 * 3 * 256 * 512 + 3 * 512 * 512;
  EXPECT_EQ(num_elements(layer_parameters(run, run.model.layers.front())), attention + experts);
}

TEST(Parameters, AMultiTokenDepthIsALayerAProjectionAndThreeNorms) {
  mcore::Run run = mixture_example(256);
  const int64_t without = all_elements(run);
  run.model.mtp_layers = 1;
  const int64_t layer = num_elements(layer_parameters(run, run.model.layers.back()));
  EXPECT_EQ(all_elements(run), without + layer + 2 * 512 * 512 + 3 * 512);
  run.parallel.pipeline = 2;  // and the last stage needs the embedding
  EXPECT_EQ(all_elements(run), without + layer + 2 * 512 * 512 + 3 * 512 + 50304 * 512);
}

}  // namespace
}  // namespace refrain::mcore::memory
