// Random graphs under random actions: what lowering makes of them is sound, computes what an
// interpreter that simply stores everything computes, and holds nothing a step longer than needed.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "program/lower.h"
#include "program/verify.h"

namespace refrain::program {
namespace {

using model::LayerGraph;
using model::ModelGraph;
using model::Op;
using model::OpKind;
using model::TensorId;

class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}
  int upto(int n) { return std::uniform_int_distribution<int>(0, n)(engine_); }
  bool maybe(double p) { return std::bernoulli_distribution(p)(engine_); }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[upto(static_cast<int>(list.size()) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

TensorId add_tensor(LayerGraph& graph, std::string name) {
  graph.tensors.push_back({std::move(name), {4, 8}, model::DType::kF32});
  return static_cast<TensorId>(graph.tensors.size() - 1);
}

/// Some of what the op reads and writes.
std::vector<TensorId> random_backward_reads(Draw& draw, const Op& op) {
  std::vector<TensorId> reads;
  for (const auto* list : {&op.reads, &op.writes}) {
    for (TensorId t : *list) {
      const bool known = std::find(reads.begin(), reads.end(), t) != reads.end();
      if (!known && draw.maybe(0.5)) reads.push_back(t);
    }
  }
  return reads;
}

/// A residual layer around a random graph: every op reads one to three of what is there, the last
/// one all that nobody has read, and its output is added to the layer's input. (The last one may
/// not read that input: its output's gradient and the input's share a storage.)
LayerGraph random_layer(Draw& draw) {
  LayerGraph graph;
  graph.input = add_tensor(graph, "input");
  std::vector<TensorId> readable = {*graph.input};
  std::set<TensorId> unread;
  const int num_ops = 2 + draw.upto(6);
  for (int o = 0; o < num_ops; ++o) {
    Op op{.kind = OpKind::kLinear, .name = "op" + std::to_string(o)};
    if (o + 1 == num_ops) op.reads.assign(unread.begin(), unread.end());
    if (op.reads.empty()) op.reads.push_back(draw.of(readable));
    for (int more = draw.upto(2); more > 0; --more) {
      const TensorId t = draw.of(readable);
      if (o + 1 == num_ops && t == graph.input) continue;
      if (std::find(op.reads.begin(), op.reads.end(), t) == op.reads.end()) op.reads.push_back(t);
    }
    for (TensorId t : op.reads) unread.erase(t);
    op.writes.push_back(add_tensor(graph, "t" + std::to_string(o)));
    if (draw.maybe(0.3)) op.writes.push_back(add_tensor(graph, "s" + std::to_string(o)));
    op.backward_reads = random_backward_reads(draw, op);
    op.splits_backward = draw.maybe(0.3) && op.writes.size() == 1;
    op.forward_scratch = Bytes(draw.upto(64));
    readable.push_back(op.writes[0]);
    unread.insert(op.writes[0]);
    const bool reuses =
        !op.splits_backward && !op.backward_reads.empty() && op.backward_reads[0] == op.reads[0];
    if (reuses && draw.maybe(0.5)) op.gradient_reuse = Op::GradientReuse{.from = 0, .read = 0};
    graph.ops.push_back(std::move(op));
  }
  const TensorId last = graph.ops.back().writes[0];
  Op add{.kind = OpKind::kAdd, .name = "add", .reads = {*graph.input, last}};
  graph.output = add_tensor(graph, "output");
  add.writes = {*graph.output};
  add.shared_gradient_reads = {0, 1};
  const auto& last_reads = graph.ops.back().backward_reads;
  if (std::find(last_reads.begin(), last_reads.end(), last) == last_reads.end()) {
    add.in_place_read = 1;
  }
  graph.ops.push_back(std::move(add));
  model::check(graph);
  return graph;
}

ModelGraph random_model(Draw& draw) {
  ModelGraph model;
  model.batch_shape = {1, 4};
  LayerGraph embedding;
  embedding.output = add_tensor(embedding, "embedding");
  embedding.params = {{.name = "embedding.weight", .shape = {4, 8}, .model_wide = true}};
  embedding.ops.push_back({.kind = OpKind::kEmbedding,
                           .name = "embedding",
                           .writes = {*embedding.output},
                           .params = {0}});
  LayerGraph head;
  head.input = add_tensor(head, "input");
  head.params = {{.name = draw.maybe(0.5) ? "embedding.weight" : "head.weight",
                  .shape = {4, 8},
                  .model_wide = true}};
  head.ops.push_back({.kind = OpKind::kHeadLoss,
                      .name = "loss",
                      .reads = {*head.input},
                      .params = {0},
                      .backward_reads = {*head.input}});
  model.graphs = {embedding, random_layer(draw), random_layer(draw), head};
  model.blocks.push_back({.graph = 0});
  const int num_layers = 1 + draw.upto(4);
  for (int layer = 0; layer < num_layers; ++layer) {
    model.blocks.push_back({.graph = 1 + draw.upto(1), .layer = layer});
  }
  model.blocks.push_back({.graph = 3});
  return model;
}

RecomputePlan random_plan(Draw& draw, const ModelGraph& model) {
  RecomputePlan plan{.actions = save_all(model)};
  const double share = draw.upto(4) / 4.0;
  for (auto& block : plan.actions) {
    for (Action& action : block) {
      if (draw.maybe(share)) action = Action::kRecompute;
    }
  }
  return plan;
}

/// Stores everything: the content of every activation is a function of what its op read.
class StoreEverything {
 public:
  explicit StoreEverything(const ModelGraph& model) : model_(model) {
    for (int32_t b = 0; b < static_cast<int32_t>(model.blocks.size()); ++b) {
      const auto& ops = model.graph(b).ops;
      for (int32_t o = 0; o < static_cast<int32_t>(ops.size()); ++o) {
        std::vector<uint64_t> reads;
        for (TensorId t : ops[o].reads) reads.push_back(content({b, o}, t));
        for (size_t w = 0; w < ops[o].writes.size(); ++w) {
          contents_[{b, ops[o].writes[w]}] = write({b, o}, w, reads);
        }
      }
    }
  }

  uint64_t content(OpRef at, TensorId tensor) const {
    const LayerGraph& graph = model_.graph(at.block);
    if (tensor != graph.input) return contents_.at({at.block, tensor});
    return contents_.at({at.block - 1, *model_.graph(at.block - 1).output});
  }

  static uint64_t write(OpRef op, size_t index, const std::vector<uint64_t>& reads) {
    uint64_t hash = static_cast<uint64_t>(op.block) * 1009 + op.op * 31 + index + 1;
    for (uint64_t r : reads) hash = (hash ^ r) * 0x100000001b3ULL + (hash >> 29);
    return hash;
  }

 private:
  const ModelGraph& model_;
  std::map<std::pair<int32_t, TensorId>, uint64_t> contents_;
};

/// Runs the Program on contents; every backward read must see what storing everything would show.
void expect_same_contents(const ModelGraph& model, const Program& program) {
  const StoreEverything reference(model);
  std::map<ValueId, uint64_t> contents;
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::kForward || step.kind == StepKind::kReplay) {
      std::vector<uint64_t> reads;
      const Op& op = model.graph(step.op.block).ops[step.op.op];
      for (size_t i = 0; i < op.reads.size(); ++i) reads.push_back(contents.at(step.reads[i]));
      for (const Step::Takeover& t : step.takeovers) contents.erase(t.from);
      for (size_t w = 0; w < step.writes.size(); ++w) {
        contents[step.writes[w]] = StoreEverything::write(step.op, w, reads);
      }
    }
    const bool is_backward =
        step.kind == StepKind::kBackward || step.kind == StepKind::kBackwardWeights;
    if (is_backward) {
      const Op& op = model.graph(step.op.block).ops[step.op.op];
      for (size_t i = 0; i < op.backward_reads.size(); ++i) {
        EXPECT_EQ(contents.at(step.reads[i]), reference.content(step.op, op.backward_reads[i]));
      }
    }
    for (ValueId v : step.freed) contents.erase(v);
  }
}

/// A Value is freed by the step that uses it last: the later uses of all live Values are not empty.
void expect_no_idle_bytes(const Program& program) {
  std::map<ValueId, size_t> last_use;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    for (const auto* list :
         {&step.reads, &step.writes, &step.write_gradients, &step.param_gradients}) {
      for (ValueId v : *list) last_use[v] = s;
    }
  }
  for (size_t s = 0; s < program.steps.size(); ++s) {
    for (ValueId v : program.steps[s].freed) EXPECT_EQ(last_use.at(v), s);
    for (const Step::Takeover& t : program.steps[s].takeovers) EXPECT_EQ(last_use.at(t.from), s);
  }
}

TEST(Lowering, OfRandomGraphsAndActionsIsSoundAndStoresNoMoreThanNeeded) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Draw draw(seed);
    const ModelGraph model = random_model(draw);
    const RecomputePlan plan = random_plan(draw, model);
    const Program program =
        lower(model, plan, {.num_micro_batches = 1 + draw.upto(1), .clip = draw.maybe(0.3)});
    ASSERT_EQ(verify(model, program, ReplayPolicy::kDemand), std::vector<std::string>())
        << "seed " << seed;
    expect_same_contents(model, program);
    expect_no_idle_bytes(program);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

/// A sound Program, and its graph, to be spoilt.
struct Sound {
  ModelGraph model;
  Program program;
};
Sound sound_program() {
  Draw draw(7);
  Sound sound{.model = random_model(draw)};
  RecomputePlan plan{.actions = save_all(sound.model)};
  for (auto& block : plan.actions) block.assign(block.size(), Action::kRecompute);
  sound.program = lower(sound.model, plan, {});
  EXPECT_TRUE(verify(sound.model, sound.program, ReplayPolicy::kDemand).empty());
  return sound;
}

Step& first_step(Program& program, StepKind kind) {
  return *std::find_if(program.steps.begin(), program.steps.end(),
                       [&](const Step& s) { return s.kind == kind; });
}

bool is_sound(const Sound& s) { return verify(s.model, s.program, ReplayPolicy::kDemand).empty(); }

TEST(Verify, SeesAValueThatIsNeverFreed) {
  Sound s = sound_program();
  for (Step& step : s.program.steps) {
    if (step.freed.empty()) continue;
    step.freed.pop_back();
    break;
  }
  EXPECT_FALSE(is_sound(s));
}

TEST(Verify, SeesAValueThatIsFreedTwice) {
  Sound s = sound_program();
  Step& step = first_step(s.program, StepKind::kUpdate);
  step.freed.push_back(step.freed.front());
  EXPECT_FALSE(is_sound(s));
}

TEST(Verify, SeesAReadOfWhatHasBeenFreed) {
  Sound s = sound_program();
  for (size_t i = 0; i < s.program.steps.size(); ++i) {
    Step& step = s.program.steps[i];
    if (step.freed.empty()) continue;
    s.program.steps[i + 1].reads.push_back(step.freed.front());
    break;
  }
  EXPECT_FALSE(is_sound(s));
}

TEST(Verify, SeesASecondReplay) {
  Sound s = sound_program();
  const auto replay = std::find_if(s.program.steps.begin(), s.program.steps.end(),
                                   [](const Step& t) { return t.kind == StepKind::kReplay; });
  ASSERT_NE(replay, s.program.steps.end());
  Step again = *replay;
  again.born.clear();
  again.takeovers.clear();
  again.freed.clear();
  s.program.steps.insert(replay + 1, again);
  EXPECT_FALSE(is_sound(s));
}

TEST(Verify, SeesAReplayThatNobodyReads) {
  Sound s = sound_program();
  Step& replay = first_step(s.program, StepKind::kReplay);
  for (Step& step : s.program.steps) {
    if (&step == &replay) continue;
    for (ValueId& v : step.reads) {
      const bool written =
          std::find(replay.writes.begin(), replay.writes.end(), v) != replay.writes.end();
      if (written) v = s.program.residents.front();
    }
  }
  EXPECT_FALSE(is_sound(s));
}

TEST(Verify, SeesAGradientThatMissesAContribution) {
  Sound s = sound_program();
  for (Step& step : s.program.steps) {
    const auto adds = std::find(step.accumulate.begin(), step.accumulate.end(), true);
    if (adds == step.accumulate.end()) continue;
    *adds = false;
    break;
  }
  EXPECT_FALSE(is_sound(s));
}

TEST(Verify, SeesAnUpdateBeforeTheLastUse) {
  Sound s = sound_program();
  const auto update = std::find_if(s.program.steps.begin(), s.program.steps.end(),
                                   [](const Step& t) { return t.kind == StepKind::kUpdate; });
  Step early = *update;
  early.reads.clear();
  early.freed.clear();
  s.program.steps.insert(s.program.steps.begin(), early);
  EXPECT_FALSE(is_sound(s));
}

}  // namespace
}  // namespace refrain::program
