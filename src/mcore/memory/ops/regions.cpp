#include "mcore/memory/ops/regions.h"

#include <utility>

namespace refrain::mcore::memory {
namespace {

Pass with_graph(const Pass& pass, Graph& graph) {
  Pass copy = pass;
  copy.graph = &graph;
  return copy;
}

}  // namespace

Tensor checkpoint(Pass& pass, Region region) {
  Graph discarded(pass.memory, Graph::Mode::kNoGradients);
  Pass first = with_graph(pass, discarded);
  const Tensor of_first = region(first);
  Tensor out(of_first.storage, of_first.bytes());
  pass.graph->record({}, [pass, region = std::move(region), from = out.gradient]() -> Gradients {
    Graph graph(pass.memory);
    Pass second = with_graph(pass, graph);
    {
      const Tensor again = region(second);
      again.gradient->storage = take(from);
    }
    graph.backward();
    return {};
  });
  return out;
}

Tensor checkpoint_if(bool active, Pass& pass, Region region) {
  return active ? checkpoint(pass, std::move(region)) : region(pass);
}

/// What backward needs to run the region again.
struct OutputDiscarding::Replay {
  Pass pass;
  ManyOutputs region;
  Graph graph;
  std::vector<Tensor> outputs;  // of the first run, whose storages the readers hold

  /// Runs the region and hands its memory to the discarded storages.
  void restore() {
    Pass second = with_graph(pass, graph);
    const std::vector<Tensor> again = region(second);
    for (size_t i = 0; i < outputs.size(); ++i) {
      // An offloaded output may be back from the host already: then the replay was in vain.
      if (!outputs[i].storage->resident()) outputs[i].storage->adopt(*again[i].storage);
      outputs[i].storage = nullptr;
      again_gradients.push_back(again[i].gradient);
    }
  }

  void backward() {
    for (size_t i = 0; i < outputs.size(); ++i) {
      again_gradients[i]->storage = take(outputs[i].gradient);
    }
    graph.backward();
  }

  std::vector<GradientSlot> again_gradients;
};

OutputDiscarding::OutputDiscarding(bool active, Pass& pass, std::vector<Storage> inputs,
                                   const ManyOutputs& region) {
  if (!active) {
    outputs_ = region(pass);
    return;
  }
  Graph discarded(pass.memory, Graph::Mode::kNoGradients);
  Pass first = with_graph(pass, discarded);
  for (const Tensor& output : region(first)) outputs_.emplace_back(output.storage, output.bytes());
  replay_ = std::make_shared<Replay>(Replay{pass, region, Graph(pass.memory), outputs_, {}});
  pass.graph->record(std::move(inputs), [replay = replay_]() -> Gradients {
    replay->backward();
    return {};
  });
}

void OutputDiscarding::discard(Pass& pass) {
  if (replay_ == nullptr) return;
  for (const Tensor& output : outputs_) output.storage->discard();
  outputs_.clear();
  pass.graph->record({}, [replay = std::move(replay_)]() -> Gradients {
    replay->restore();
    return {};
  });
}

}  // namespace refrain::mcore::memory
