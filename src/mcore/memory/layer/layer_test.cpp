#include "mcore/memory/layer/layer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mcore/memory/layer/head.h"
#include "mcore/memory/tape/gpt_example.h"

namespace refrain::mcore::memory {
namespace {

constexpr int64_t kMiB = 1 << 20;

/// Runs a piece of a model forward and adds up what it leaves.
struct Forward {
  int64_t kept = 0, peak = 0;  // bytes without workspaces; the peak is over the whole piece

  template <class Piece>
  Forward(const mcore::Run& run, Piece piece) {
    Memory memory;
    Caches caches(run, memory);
    Graph graph(memory);
    Pass pass{.run = run, .memory = memory, .caches = caches, .graph = &graph};
    pass.sizes = sizes_of(run, run.batch.seq);
    const Tensor out = piece(pass, Tensor(memory.allocate(pass.sizes.hidden, "x")));
    const allocator::Stream stream = memory.take();
    std::vector<int64_t> bytes(static_cast<size_t>(stream.num_blocks));
    for (const auto& event : stream.events) {
      if (event.kind == allocator::Event::Kind::kFree) {
        kept -= bytes[event.block];
      } else if (!stream.postings[event.posting].starts_with("workspace/")) {
        kept += bytes[event.block] = event.bytes.count();
      }
      peak = std::max(peak, kept);
    }
  }
};

Forward one_layer(const mcore::Run& run, const LayerKind& kind = {}) {
  return {run, [kind](Pass& pass, const Tensor& x) { return layer(pass, x, kind); }};
}

constexpr int64_t kHidden = 4 * kMiB;      // of the example: 4 x 1024 tokens of 512 in 2 bytes
constexpr int64_t kStatistics = 4 * 4096;  // a float32 a token

TEST(Layer, OfTheExampleKeepsWhatItsTensorsAddUpTo) {
  // Attention: norm in and out, QKV, softmax, mask, dropped, context, dropout mask. MLP: norm in
  // and out, fc1, activation, dropout mask. The layer's output is the next one's input.
  const int64_t kept =
      (4 + 4 + 12 + 64 + 32 + 64 + 4 + 2 + 4 + 4 + 16 + 16 + 2) * kMiB + 4 * kStatistics;
  EXPECT_EQ(kept, 239'140'864);
  EXPECT_EQ(one_layer(gpt_example()).kept, kept + kHidden);
}

TEST(Layer, WithoutDropoutKeepsNoMasks) {
  mcore::Run run = gpt_example();
  run.model.attention_dropout = run.model.hidden_dropout = 0;
  EXPECT_EQ(one_layer(run).kept, one_layer(gpt_example()).kept - (32 + 64 + 2 + 2) * kMiB);
}

TEST(Layer, WithAFusedKernelKeepsNoScores) {
  mcore::Run run = gpt_example();
  run.place.attention = AttentionKernel::kCudnn;
  const int64_t log_sum_exp = 4 * 4 * 8 * 1024, rng_state = 16;
  EXPECT_EQ(one_layer(run).kept,
            one_layer(gpt_example()).kept - (64 + 32 + 64) * kMiB + log_sum_exp + rng_state);
  mcore::Run flash = run;
  flash.place.attention = AttentionKernel::kFlash;  // and a context with the batch first
  EXPECT_EQ(one_layer(flash).kept, one_layer(run).kept + kHidden);
  flash.batch.micro = run.batch.micro = 1;
  EXPECT_EQ(one_layer(flash).kept, one_layer(run).kept);
}

TEST(Layer, SequenceParallelDividesWhatTensorParallelLeavesWhole) {
  mcore::Run run = gpt_example();
  run.parallel.tensor = 2;
  const int64_t whole = (4 + 4 + 4 + 4 + 2 + 2 + 4) * kMiB + 4 * kStatistics;
  const int64_t tensor = one_layer(run).kept;
  run.parallel.sequence = true;
  EXPECT_EQ(one_layer(run).kept, tensor - whole / 2);
}

TEST(Layer, ExpertsKeepARowForEachChoiceOfATokenEvenly) {
  mcore::Run run = gpt_example();
  run.model.gated = true;
  run.model.experts = {.num_experts = 4, .topk = 2, .ffn = 512, .grouped_gemm = true};
  const LayerKind kind{.mixer = Mixer::kNone, .feed_forward = FeedForward::kExperts};
  // Norm in and out, rows, twice and once the width, dropout mask, output; router and indices.
  const int64_t rows = 2 * kHidden;
  const int64_t router = 4096 * 4 * (3 * 4 + 1), indices = 2 * 4096 * 12;
  EXPECT_EQ(one_layer(run, kind).kept, 2 * kHidden + rows + 2 * rows + rows + 2 * kMiB + kHidden +
                                           router + indices + 2 * kStatistics);
}

TEST(Layers, FullRecomputeKeepsAnInputAGroup) {
  mcore::Run run = gpt_example();
  const auto stack = [](Pass& pass, const Tensor& x) {
    return layers(pass, x, pass.run.model.layers);
  };
  run.recompute = {.method = Recompute::Method::kUniform, .num_layers = 1};
  EXPECT_EQ(Forward(run, stack).kept, 13 * kHidden);
  run.recompute.num_layers = 5;  // groups of 5, 5 and 2
  EXPECT_EQ(Forward(run, stack).kept, 4 * kHidden);
  run.recompute = {.method = Recompute::Method::kBlock, .num_layers = 12};
  EXPECT_EQ(Forward(run, stack).kept, 13 * kHidden);
  run.recompute.num_layers = 11;
  EXPECT_EQ(Forward(run, stack).kept, 12 * kHidden + 239'140'864);
}

TEST(Head, PeaksWhereBothLogitsLive) {
  const mcore::Run run = gpt_example();
  const int64_t tokens = 4096, entries = tokens * 50304;
  const auto loss = [](Pass& pass, const Tensor& x) { return head(pass, x); };
  const Forward forward(run, loss);
  // Logits in 2 and in 4 bytes; labels, and 29 bytes a token of small tensors.
  EXPECT_EQ(forward.peak, kHidden + entries * 6 + tokens * 8 + tokens * 29);
  // The softmax, target mask, masked targets, the loss.
  EXPECT_EQ(forward.kept, kHidden + entries * 4 + tokens * 13);
  mcore::Run compiled = run;
  compiled.place.head_loss = HeadLoss::kNative;  // exponentials beside the float32 logits
  EXPECT_EQ(Forward(compiled, loss).peak, kHidden + entries * 10 + tokens * 8);
}

}  // namespace
}  // namespace refrain::mcore::memory
