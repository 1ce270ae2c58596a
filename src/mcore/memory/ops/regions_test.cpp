#include "mcore/memory/ops/regions.h"

#include <gtest/gtest.h>

#include "mcore/memory/ops/linear.h"
#include "mcore/memory/ops/offload.h"
#include "mcore/memory/ops/pointwise.h"
#include "mcore/memory/tape/gpt_example.h"

namespace refrain::mcore::memory {
namespace {

/// A pass of the example, and what lives in its memory.
class Regions : public testing::Test {
 protected:
  Regions() { pass_.sizes = sizes_of(run_, run_.batch.seq); }

  int64_t live() const { return live_; }

  /// Takes the stream and adds it up, as `peak` and `live`.
  void add_up() {
    const allocator::Stream stream = memory_.take();
    std::vector<int64_t> bytes(static_cast<size_t>(stream.num_blocks));
    for (const auto& event : stream.events) {
      const bool is_new = event.kind == allocator::Event::Kind::kAllocate;
      if (is_new) bytes[event.block] = event.bytes.count();
      live_ += is_new ? bytes[event.block] : -bytes[event.block];
      peak_ = std::max(peak_, live_);
    }
  }

  Tensor hidden() { return Tensor(memory_.allocate(pass_.sizes.hidden, "x")); }

  /// The wide middle of an MLP.
  static Tensor mlp(Pass& pass, const Tensor& x) {
    const Tensor wide = column_linear(pass, x, {.name = "fc1", .in = 512, .out = 2048});
    return row_linear(pass, activation(pass, wide, false), {.name = "fc2", .in = 2048, .out = 512});
  }

  mcore::Run run_ = gpt_example();
  Memory memory_;
  Caches caches_{run_, memory_};
  Graph graph_{memory_};
  Pass pass_{.run = run_, .memory = memory_, .caches = caches_, .graph = &graph_};
  int64_t live_ = 0, peak_ = 0;
};

constexpr int64_t kHidden = 4 * 1024 * 512 * 2;
constexpr int64_t kWorkspace = 4 << 20;

TEST_F(Regions, PlainlyAnMlpKeepsItsWideTensors) {
  const Tensor x = hidden();
  const Tensor out = mlp(pass_, x);
  add_up();
  EXPECT_EQ(live(), 10 * kHidden + kWorkspace);  // input, output, twice four times as wide
}

TEST_F(Regions, ACheckpointKeepsInputAndOutputOnly) {
  const Tensor x = hidden();
  const Tensor out = checkpoint(pass_, [x](Pass& region) { return mlp(region, x); });
  add_up();
  EXPECT_EQ(live(), 2 * kHidden + kWorkspace);
}

TEST_F(Regions, ACheckpointLeavesOnlyTheInputsGradientAfterBackward) {
  const Tensor x = hidden();
  {
    const Tensor out = checkpoint(pass_, [x](Pass& region) { return mlp(region, x); });
    out.gradient->storage = memory_.allocate(out.bytes(), "gradient");
  }
  graph_.backward();
  EXPECT_NE(x.gradient->storage, nullptr);
  add_up();
  EXPECT_EQ(live(), 2 * kHidden + kWorkspace);
  EXPECT_GE(peak_, 11 * kHidden + kWorkspace);  // the middle lived again
}

TEST_F(Regions, DiscardedOutputsComeBackBeforeTheirReaderNeedsThem) {
  const Tensor x = hidden();
  OutputDiscarding normed(true, pass_, {x.storage}, [x](Pass& region) {
    return std::vector{norm(region, x, region.sizes.region_tokens, "norm")};
  });
  const Storage output = normed.outputs().front().storage;
  const Tensor out = mlp(pass_, normed.outputs().front());
  EXPECT_TRUE(output->resident());
  normed.discard(pass_);
  EXPECT_FALSE(output->resident());
  bool back = false;
  out.gradient->storage = memory_.allocate(out.bytes(), "gradient");
  // Recorded last, so it runs first; the next nodes are the restore and the MLP's.
  graph_.record({}, [&]() -> Gradients {
    back = output->resident();
    return {};
  });
  graph_.backward();
  EXPECT_FALSE(back);
  EXPECT_TRUE(output->resident());
  EXPECT_NE(x.gradient->storage, nullptr);
}

TEST_F(Regions, InactiveDiscardingKeepsTheOutputs) {
  const Tensor x = hidden();
  OutputDiscarding normed(false, pass_, {x.storage}, [x](Pass& region) {
    return std::vector{norm(region, x, region.sizes.region_tokens, "norm")};
  });
  const Storage output = normed.outputs().front().storage;
  const Tensor out = mlp(pass_, normed.outputs().front());
  normed.discard(pass_);
  EXPECT_TRUE(output->resident());
}

TEST_F(Regions, AnOffloadedModulesTensorsLeaveAndReturn) {
  run_.offload.modules = {"mlp"};
  const Tensor x = hidden();
  OffloadBracket bracket(pass_, "mlp");
  const Tensor wide = column_linear(pass_, x, {.name = "fc1", .in = 512, .out = 2048});
  bracket.close(pass_);
  bracket.commit(pass_);
  EXPECT_FALSE(x.storage->resident());
  EXPECT_TRUE(wide.storage->resident());  // saved by nobody inside
  wide.gradient->storage = memory_.allocate(wide.bytes(), "gradient");
  graph_.backward();
  EXPECT_TRUE(x.storage->resident());
}

TEST_F(Regions, WhereBackwardIsNextTheLastGroupStays) {
  run_.offload.modules = {"mlp"};
  const auto two_modules = [this](Graph& graph) {
    Pass pass = pass_;
    pass.graph = &graph;
    std::vector<Storage> inputs;
    for (int i = 0; i < 2; ++i) {
      const Tensor x = hidden();
      OffloadBracket bracket(pass, "mlp");
      const Tensor wide = column_linear(pass, x, {.name = "fc1", .in = 512, .out = 2048});
      bracket.close(pass);
      bracket.commit(pass);
      wide.gradient->storage = memory_.allocate(wide.bytes(), "gradient");
      inputs.push_back(x.storage);
    }
    return inputs;
  };
  Graph first(memory_), second(memory_);
  for (const Storage& input : two_modules(first)) EXPECT_FALSE(input->resident());
  first.backward();
  const std::vector<Storage> inputs = two_modules(second);
  EXPECT_FALSE(inputs[0]->resident());
  EXPECT_TRUE(inputs[1]->resident());
}

TEST_F(Regions, ModulesThatAreNotNamedStay) {
  run_.offload.modules = {"moe_act"};
  const Tensor x = hidden();
  OffloadBracket bracket(pass_, "mlp");
  const Tensor wide = column_linear(pass_, x, {.name = "fc1", .in = 512, .out = 2048});
  bracket.close(pass_);
  bracket.commit(pass_);
  EXPECT_TRUE(x.storage->resident());
}

}  // namespace
}  // namespace refrain::mcore::memory
