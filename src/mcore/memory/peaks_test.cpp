#include "mcore/memory/peaks.h"

#include <gtest/gtest.h>

#include "mcore/memory/bound.h"
#include "mcore/memory/not_modelled.h"
#include "mcore/memory/rank_stream.h"
#include "mcore/memory/schedule.h"
#include "mcore/memory/state/parameters.h"
#include "mcore/memory/tape/gpt_example.h"

namespace refrain::mcore::memory {
namespace {

TEST(Peaks, AreGivenForEveryRankWithWhereAndOfWhat) {
  std::vector<RankPeak> peaks;
  for (int64_t rank = 0; rank < 4; ++rank) {
    peaks.push_back(rank_peak(pipeline_example(4, 1), rank));
    ASSERT_EQ(peaks.back().rank, rank);
  }
  EXPECT_EQ(peaks.front().where, "step 2: backward, chunk 0");
  EXPECT_EQ(peaks.back().where, "step 2: loss head, forward");
  for (const RankPeak& peak : peaks) {
    EXPECT_LT(peak.at_rest, peak.peak_allocated);
    EXPECT_LE(peak.peak_allocated, peak.peak_reserved);
    EXPECT_LT(peak.peak_allocated, peak.upper);
    Bytes accounts;
    for (const auto& account : peak.accounts) accounts += account.blocks;
    EXPECT_EQ(accounts, peak.peak_allocated);
  }
}

TEST(Bound, AllowsOneMisfitForEachKindOfLargeTensor) {
  allocator::Recorder recorder;
  const auto saved = recorder.posting("saved/x"), other = recorder.posting("saved/y");
  for (int i = 0; i < 3; ++i) recorder.allocate(4 << 20, saved);
  recorder.allocate(6 << 20, saved);
  recorder.allocate(4 << 20, other);
  recorder.allocate(1 << 20, other);  // the small pool splits to the last 512 bytes
  ReplayedRank replayed{recorder.take(), {}};
  replayed.result = allocator::replay(replayed.stream, {});
  EXPECT_EQ(misfits(replayed), allocator::kMiB * 3);
}

TEST(Bound, AllowsForOneLayerOfOffloadedModules) {
  mcore::Run run = gpt_example();
  const ReplayedRank replayed = replay_rank(run, 0, {}, 2);
  const Bytes without = upper_bound(run, replayed);
  run.offload.modules = {"moe_act"};  // there is none: nothing leaves
  EXPECT_EQ(upper_bound(run, replayed), without);
  run.offload.modules = {"core_attn"};
  const int64_t scores = 4 * 8 * 1024 * 1024, mixed = 4096 * 3 * 512;
  // Softmax and dropped probabilities, a byte of dropout mask, and the mixed projection.
  const Bytes layer{scores * (2 + 2 + 1) + mixed * 2};
  EXPECT_EQ(offloaded_layer(run), layer);
  EXPECT_EQ(upper_bound(run, replayed), without + layer);
}

TEST(Bound, KeepsTheMomentsThatAResumedRunWasHanded) {
  mcore::Run run = gpt_example();
  const ReplayedRank replayed = replay_rank(run, 0, {}, 2);
  const Bytes without = upper_bound(run, replayed);
  run.place.resumed = true;
  Bytes moments;
  for (const Parameter& parameter : chunk_parameters(run, 0, 0)) {
    moments += allocator::block_bytes(Bytes(parameter.elements * 4), {}) * 2;
  }
  EXPECT_EQ(upper_bound(run, replayed), without + moments);
}

TEST(Bound, ReplaysARankASecondTimeOnlyWhereThatDiffers) {
  const auto bound_of_worst = [](const mcore::Run& run) {
    return upper_bound(run, replay_rank(cautious(run), 0, {}, 2, cautious_assumptions()));
  };
  mcore::Run dense = gpt_example();
  EXPECT_FALSE(has_open_sizes(dense));
  EXPECT_EQ(rank_peak(dense, 0).upper, bound_of_worst(dense));

  mcore::Run workspace = gpt_example();
  workspace.place.compute_capability = 90;
  workspace.place.cublas_32mib = true;
  EXPECT_FALSE(has_open_sizes(workspace));
  workspace.place.cublas_32mib = false;
  EXPECT_TRUE(has_open_sizes(workspace));
  EXPECT_EQ(rank_peak(workspace, 0).upper, bound_of_worst(workspace));
  EXPECT_GT(rank_peak(workspace, 0).upper,
            upper_bound(workspace, replay_rank(workspace, 0, {}, 2)));

  mcore::Run experts = gpt_example();
  experts.model.layers.back().feed_forward = FeedForward::kExperts;
  experts.model.experts = {.num_experts = 4, .topk = 1, .ffn = 2048};
  EXPECT_TRUE(has_open_sizes(experts));
  EXPECT_EQ(rank_peak(experts, 0).upper, bound_of_worst(experts));
}

TEST(Bound, TakesTheLargeWorkspaceWhereBuildsDiffer) {
  mcore::Run run = gpt_example();
  run.place.cublas_32mib = false;
  EXPECT_FALSE(cautious(run).place.cublas_32mib);
  run.place.compute_capability = 90;
  EXPECT_TRUE(cautious(run).place.cublas_32mib);
}

TEST(Schedule, WarmUpIsLongerOnEarlierRanks) {
  EXPECT_EQ(num_warmup(pipeline_example(4, 1), 0), 3);
  EXPECT_EQ(num_warmup(pipeline_example(4, 1), 3), 0);
  EXPECT_EQ(num_warmup(pipeline_example(4, 3), 3), 8);
  EXPECT_EQ(num_warmup(pipeline_example(4, 3), 0), 14);
  mcore::Run overlapped = pipeline_example(4, 3);
  overlapped.place.ep_overlap = true;
  EXPECT_EQ(num_warmup(overlapped, 3), 9);
  mcore::Run few = pipeline_example(4, 3);
  few.batch.global = 4 * few.batch.micro;
  EXPECT_EQ(num_warmup(few, 0), 12);
}

TEST(NotModelled, SaysNothingAboutARunThatIs) {
  EXPECT_EQ(not_modelled(gpt_example()), std::nullopt);
  EXPECT_EQ(not_modelled(pipeline_example(4, 3)), std::nullopt);
}

TEST(NotModelled, NamesWhatIsLeftOut) {
  const auto reason = [](auto change) {
    mcore::Run run = gpt_example();
    change(run);
    return not_modelled(run).value_or("");
  };
  EXPECT_NE(reason([](mcore::Run& run) { run.place.graphs = {"attn"}; }).find("CUDA graphs"),
            std::string::npos);
  EXPECT_NE(reason([](mcore::Run& run) { run.optimizer.name = "muon"; }).find("optimizer muon"),
            std::string::npos);
  EXPECT_NE(reason([](mcore::Run& run) { run.optimizer.trains_adapters_only = true; }), "");
  EXPECT_NE(reason([](mcore::Run& run) { run.place.offloads_activations = true; }), "");
  EXPECT_EQ(reason([](mcore::Run& run) {
              run.place.offloads_activations = true;
              run.offload.num_layers = 2;
            }),
            "");
}

TEST(NotModelled, FindsSizesThatContradictEachOther) {
  mcore::Run layout = pipeline_example(2, 1);
  layout.parallel.layout = {{6, 6}};
  EXPECT_EQ(not_modelled(layout), std::nullopt);
  layout.parallel.layout = {{6, 5}};
  EXPECT_NE(not_modelled(layout), std::nullopt);
  layout.parallel.layout = {{12}};
  EXPECT_NE(not_modelled(layout), std::nullopt);

  mcore::Run interleaved = pipeline_example(4, 3);
  interleaved.batch.global = 6 * interleaved.batch.micro;
  EXPECT_NE(not_modelled(interleaved), std::nullopt);

  mcore::Run experts = gpt_example();
  experts.model.layers.front().feed_forward = FeedForward::kExperts;
  experts.model.experts = {.num_experts = 4, .topk = 1, .ffn = 128};
  experts.parallel.expert = 4;
  EXPECT_EQ(not_modelled(experts), std::nullopt);
  experts.parallel.expert = 8;
  EXPECT_NE(not_modelled(experts), std::nullopt);

  mcore::Run nothing;
  EXPECT_NE(not_modelled(nothing), std::nullopt);
}

}  // namespace
}  // namespace refrain::mcore::memory
