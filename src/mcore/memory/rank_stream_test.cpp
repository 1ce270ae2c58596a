// Properties of whole streams. Their bytes are checked against data in tests/cases/memory.
#include "mcore/memory/rank_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "allocator/replay.h"
#include "mcore/memory/schedule.h"
#include "mcore/memory/tape/gpt_example.h"

namespace refrain::mcore::memory {
namespace {

using allocator::Event;
using allocator::Stream;
using Labels = std::set<std::string>;

mcore::Run with_recompute(mcore::Run run, Recompute recompute) {
  run.recompute = std::move(recompute);
  return run;
}

/// With a prediction depth, over tensor and expert ranks.
mcore::Run spread_mixture_example() {
  mcore::Run run = mixture_example(512);
  run.model.mtp_layers = 1;
  run.parallel.tensor = run.parallel.expert = 2;
  run.parallel.sequence = true;
  run.optimizer.distributed = true;
  return run;
}

mcore::Run hybrid_example() {
  mcore::Run run = gpt_example();
  run.model.state = {.num_key_heads = 4,
                     .num_value_heads = 8,
                     .key_dim = 64,
                     .value_dim = 64,
                     .num_heads = 16,
                     .head_dim = 64,
                     .state_dim = 64,
                     .num_groups = 8};
  run.model.layers = {{.mixer = Mixer::kMamba, .feed_forward = FeedForward::kNone},
                      {.mixer = Mixer::kNone, .feed_forward = FeedForward::kDense},
                      {.mixer = Mixer::kLinearAttention},
                      {.mixer = Mixer::kAttention, .feed_forward = FeedForward::kNone}};
  return run;
}

mcore::Run t5_example() {
  mcore::Run run = gpt_example();
  run.model.family = Family::kT5;
  run.model.encoder_layers = 4;
  run.model.layers.resize(4);
  run.batch.encoder_seq = 512;
  run.batch.seq = 128;
  return run;
}

/// Runs of every family, layout and number format that is modelled.
std::map<std::string, mcore::Run> examples() {
  std::map<std::string, mcore::Run> runs = {{"dense", gpt_example()},
                                            {"pipeline", pipeline_example(4, 1)},
                                            {"interleaved", pipeline_example(2, 3)},
                                            {"mixture", spread_mixture_example()},
                                            {"hybrid", hybrid_example()},
                                            {"t5", t5_example()}};
  runs["local"] = gpt_example();
  runs["local"].place.transformer_engine = false;
  runs["bert"] = gpt_example();
  runs["bert"].model.family = Family::kBert;
  runs["flash"] = gpt_example();
  runs["flash"].place.attention = AttentionKernel::kFlash;
  runs["flash"].model.positions = Model::Positions::kRope;
  runs["fp8"] = gpt_example();
  runs["fp8"].numerics.gemms = LowPrecision::kFp8Delayed;
  runs["mxfp8"] = spread_mixture_example();
  runs["mxfp8"].numerics.gemms = LowPrecision::kMxfp8;
  runs["mxfp8"].numerics.low_precision_params = true;
  runs["sharded"] = gpt_example();
  runs["sharded"].optimizer.fsdp = true;
  runs["layers offloaded"] = gpt_example();
  runs["layers offloaded"].offload.num_layers = 8;
  runs["modules offloaded"] = spread_mixture_example();
  runs["modules offloaded"].offload.modules = {"core_attn", "attn_proj", "expert_fc1", "moe_act",
                                               "attn_norm", "mlp_norm",  "qkv_linear"};
  runs["modules offloaded"].recompute = {.method = Recompute::Method::kSelective,
                                         .labels = {"layernorm", "mla_up_proj", "moe_act"}};
  runs["deferred"] = pipeline_example(2, 1);
  runs["deferred"].place.deferred_head_gradients = 2;
  runs["overlapped experts"] = spread_mixture_example();
  runs["overlapped experts"].parallel.pipeline = 2;
  runs["overlapped experts"].parallel.virtual_stages = 2;
  runs["overlapped experts"].place.ep_overlap = true;
  return runs;
}

/// What is left when the stream ends, by account.
std::map<std::string, Bytes> left(const Stream& stream) {
  std::map<allocator::BlockId, const Event*> live;
  for (const Event& event : stream.events) {
    if (event.kind == Event::Kind::kAllocate) {
      live[event.block] = &event;
    } else {
      live.erase(event.block);
    }
  }
  std::map<std::string, Bytes> accounts;
  for (const auto& [block, event] : live) {
    const std::string& posting = stream.postings[event->posting];
    accounts[posting.substr(0, posting.find('/'))] += event->bytes;
  }
  return accounts;
}

Bytes peak(const mcore::Run& run, int64_t rank, int num_steps = 2) {
  return allocator::replay(rank_stream(run, rank, num_steps), {}).allocated.bytes;
}

/// The requests, which two streams share where they allocate alike.
std::vector<std::pair<int64_t, std::string>> requests(const Stream& stream) {
  std::vector<std::pair<int64_t, std::string>> requests;
  for (const Event& event : stream.events) {
    if (event.kind == Event::Kind::kAllocate) {
      requests.emplace_back(event.bytes.count(), stream.postings[event.posting]);
    }
  }
  return requests;
}

TEST(RankStream, LeavesStateWorkspacesAndTheLastInputOnly) {
  for (const auto& [name, run] : examples()) {
    for (int64_t rank = 0; rank < run.parallel.pipeline; ++rank) {
      SCOPED_TRACE(name + ", rank " + std::to_string(rank));
      for (const auto& [account, bytes] : left(rank_stream(run, rank, 1))) {
        // The last input of each chunk stays with its gradient.
        const bool stays = account == "state" || account == "workspace" || account == "pipeline" ||
                           (account == "gradient" && rank > 0) ||
                           (account == "gradient" && run.parallel.virtual_stages > 1);
        EXPECT_TRUE(stays) << account << " " << bytes.count();
      }
    }
  }
}

TEST(RankStream, HoldsTheSameAtRestAfterEveryStepButTheFirst) {
  for (const auto& [name, run] : examples()) {
    SCOPED_TRACE(name);
    EXPECT_EQ(left(rank_stream(run, 0, 2)), left(rank_stream(run, 0, 3)));
  }
}

TEST(RankStream, IsMadeOfStepsThatAllocateAlike) {
  const mcore::Run run = gpt_example();
  const auto two = requests(rank_stream(run, 0, 2)), three = requests(rank_stream(run, 0, 3));
  const size_t step = three.size() - two.size();
  ASSERT_GT(step, 0u);
  EXPECT_TRUE(std::equal(three.end() - static_cast<std::ptrdiff_t>(step), three.end(),
                         two.end() - static_cast<std::ptrdiff_t>(step)));
}

TEST(RankStream, MoreRecomputeNeverRaisesThePeak) {
  const mcore::Run run = gpt_example();
  using Method = Recompute::Method;
  const std::vector<Recompute> from_less_to_more = {
      {},
      {.method = Method::kSelective, .labels = {"core_attn"}},
      {.method = Method::kSelective, .labels = {"core_attn", "mlp"}},
      {.method = Method::kBlock, .num_layers = 11},
      {.method = Method::kUniform, .num_layers = 1}};
  Bytes before = peak(run, 0);
  for (size_t i = 1; i < from_less_to_more.size(); ++i) {
    const Bytes now = peak(with_recompute(run, from_less_to_more[i]), 0);
    EXPECT_LT(now, before) << i;
    before = now;
  }
}

TEST(RankStream, EachMixtureLabelFreesWhatItNames) {
  const mcore::Run run = spread_mixture_example();
  const Bytes none = peak(run, 0);
  for (const char* label :
       {"layernorm", "mla_up_proj", "moe_act", "shared_experts", "moe", "core_attn"}) {
    const Recompute recompute{.method = Recompute::Method::kSelective, .labels = {label}};
    EXPECT_LT(peak(with_recompute(run, recompute), 0), none) << label;
  }
}

TEST(RankStream, LabelsWithoutTheirModuleChangeNothing) {
  const mcore::Run run = gpt_example();
  const auto plain = requests(rank_stream(run, 0, 1));
  // Norms are part of Transformer Engine's linears, and there are no experts.
  for (const char* label : {"layernorm", "moe", "moe_act", "shared_experts", "mla_up_proj"}) {
    const Recompute recompute{.method = Recompute::Method::kSelective, .labels = {label}};
    EXPECT_EQ(requests(rank_stream(with_recompute(run, recompute), 0, 1)), plain) << label;
  }
  mcore::Run local = run;
  local.place.transformer_engine = false;
  const Recompute norms{.method = Recompute::Method::kSelective, .labels = {"layernorm"}};
  EXPECT_LT(peak(with_recompute(local, norms), 0), peak(local, 0));
}

TEST(RankStream, LabelsDoNothingUnlessRecomputeIsSelective) {
  mcore::Run run = gpt_example();
  const auto plain = requests(rank_stream(run, 0, 1));
  run.recompute.labels = {"mlp"};
  EXPECT_EQ(requests(rank_stream(run, 0, 1)), plain);
}

/// Micro-batches times layers whose QKV projections live at the peak.
int64_t layers_in_flight(const mcore::Run& run, int64_t rank) {
  const allocator::Result result = allocator::replay(rank_stream(run, rank, 1), {});
  for (const auto& account : result.at_peak) {
    for (const auto& part : account.parts) {
      if (part.name == "attention.qkv") return part.num_blocks;
    }
  }
  return 0;
}

TEST(RankStream, EarlierRanksHoldMoreMicroBatches) {
  const mcore::Run run = pipeline_example(4, 1);  // three layers a stage, eight micro-batches
  EXPECT_EQ(layers_in_flight(run, 0), 4 * 3);
  EXPECT_EQ(layers_in_flight(run, 2), 2 * 3);
  EXPECT_EQ(layers_in_flight(run, 3), 1 * 3);
}

TEST(RankStream, NoMoreMicroBatchesAreInFlightThanThereAre) {
  mcore::Run run = pipeline_example(4, 1);
  run.batch.global = 2 * run.batch.micro;
  EXPECT_EQ(layers_in_flight(run, 0), 2 * 3);
}

TEST(RankStream, AnEarlierLoadedOptimizerIsThereFromTheStart) {
  mcore::Run run = gpt_example();
  const Bytes steady = peak(run, 0, 2);
  EXPECT_LT(peak(run, 0, 1), steady);
  run.place.resumed = true;
  EXPECT_GT(peak(run, 0, 1), peak(gpt_example(), 0, 1));
}

TEST(RankStream, ABusierExpertRankHoldsMore) {
  const mcore::Run run = spread_mixture_example();
  const auto with_load = [&](double load) {
    return allocator::replay(rank_stream(run, 0, 1, {.expert_load = load}), {}).allocated.bytes;
  };
  EXPECT_GT(with_load(1.25), with_load(1));
  EXPECT_EQ(with_load(1), peak(run, 0, 1));
}

TEST(RankStream, MarksNameTheStepsPhases) {
  const Stream stream = rank_stream(gpt_example(), 0, 2);
  ASSERT_FALSE(stream.marks.empty());
  EXPECT_EQ(stream.marks.front().phase, "construction");
  EXPECT_EQ(allocator::phase_of(stream, stream.events.size() - 1), "step 2: backward, chunk 0");
}

bool same(const Stream& a, const Stream& b) {
  return std::equal(
      a.events.begin(), a.events.end(), b.events.begin(), b.events.end(),
      [&](const Event& x, const Event& y) {
        return x.kind == y.kind && x.block == y.block && x.bytes == y.bytes &&
               (x.kind == Event::Kind::kFree || a.postings[x.posting] == b.postings[y.posting]);
      });
}

TEST(LayerRecompute, OfLayersThatAreAllAlikeIsTheRunsSetting) {
  const Recompute mlp = {.method = Recompute::Method::kSelective,
                         .labels = {"mlp", "moe_act", "core_attn"}};
  const Recompute whole = {.method = Recompute::Method::kUniform};
  for (const mcore::Run& base : {pipeline_example(2, 3), spread_mixture_example()}) {
    for (const Recompute& setting : {Recompute{}, mlp, whole}) {
      mcore::Run planned = with_recompute(base, setting);  // prediction depths follow the run
      planned.layer_recompute.assign(base.model.layers.size(), setting);
      EXPECT_TRUE(
          same(rank_stream(planned, 0, 2), rank_stream(with_recompute(base, setting), 0, 2)));
    }
  }
}

TEST(LayerRecompute, OfTheFirstLayersOfEachChunkIsBlock) {
  const Recompute block = {.method = Recompute::Method::kBlock};
  mcore::Run planned = pipeline_example(2, 3);  // chunks of two layers
  for (int layer = 0; layer < 12; ++layer) {
    planned.layer_recompute.push_back(
        layer % 2 == 0 ? Recompute{.method = Recompute::Method::kUniform} : Recompute{});
  }
  EXPECT_TRUE(same(rank_stream(planned, 1, 2),
                   rank_stream(with_recompute(pipeline_example(2, 3), block), 1, 2)));
}

// Counted in the stream, whose phases say which pass begins. The last rank's loss head has phases
// of its own; the schedule is the same code there.
TEST(BackwardMoments, AreWhatTheScheduleHolds) {
  for (const mcore::Run& run : {pipeline_example(4, 1), pipeline_example(4, 3)}) {
    for (int64_t rank = 0; rank + 1 < run.parallel.pipeline; ++rank) {
      const std::vector<BackwardMoment> moments = backward_moments(run, rank);
      std::vector<int64_t> flight(static_cast<size_t>(run.parallel.virtual_stages));
      size_t num_backwards = 0;
      for (const allocator::Mark& mark : rank_stream(run, rank, 1).marks) {
        const size_t chunk = mark.phase.find("chunk ");
        if (chunk == std::string::npos) continue;
        const int64_t stage = std::stol(mark.phase.substr(chunk + 6));
        if (mark.phase.find(": forward") != std::string::npos) {
          ++flight[stage];
          continue;
        }
        ASSERT_LT(num_backwards, moments.size());
        EXPECT_EQ(moments[num_backwards].virtual_stage, stage) << "rank " << rank;
        EXPECT_EQ(moments[num_backwards++].in_flight, flight) << "rank " << rank;
        --flight[stage];
      }
      EXPECT_EQ(num_backwards, moments.size());
    }
  }
}

TEST(BackwardMoments, WithoutAPipelineThereIsOne) {
  const mcore::Run run = gpt_example();  // one micro-batch a replica
  const std::vector<BackwardMoment> moments = backward_moments(run, 0);
  ASSERT_EQ(moments.size(), 1u);
  EXPECT_EQ(moments.front().in_flight, std::vector<int64_t>{1});
}

}  // namespace
}  // namespace refrain::mcore::memory
