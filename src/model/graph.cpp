#include "model/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "base/error.h"

namespace refrain::model {
namespace {

bool contains(const std::vector<TensorId>& ids, TensorId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

void check_in_place(const LayerGraph& graph, const Op& op) {
  const TensorId read = op.reads.at(*op.in_place_read);
  const TensorId write = op.writes.at(0);
  RC_CHECK(graph.tensors[read].shape == graph.tensors[write].shape &&
               graph.tensors[read].dtype == graph.tensors[write].dtype,
           "{} takes over storage of another shape", op.name);
  RC_CHECK(read != graph.input && read != graph.output, "{} destroys a block boundary", op.name);
  for (const Op& other : graph.ops) {
    RC_CHECK(&other == &op || !contains(other.reads, read), "{} destroys what {} reads", op.name,
             other.name);
    RC_CHECK(!contains(other.backward_reads, read), "{} destroys what {} backward reads", op.name,
             other.name);
  }
}

void check_op(const LayerGraph& graph, const Op& op) {
  const auto num_tensors = static_cast<TensorId>(graph.tensors.size());
  const auto in_range = [&](TensorId id) { return id >= 0 && id < num_tensors; };
  RC_CHECK(std::all_of(op.reads.begin(), op.reads.end(), in_range), "{} reads", op.name);
  RC_CHECK(std::all_of(op.writes.begin(), op.writes.end(), in_range), "{} writes", op.name);
  for (TensorId id : op.backward_reads) {
    RC_CHECK(contains(op.reads, id) || contains(op.writes, id),
             "backward of {} reads {}, which it neither reads nor writes", op.name, id);
  }
  for (ParamId id : op.params) {
    RC_CHECK(id >= 0 && static_cast<size_t>(id) < graph.params.size(), "{} params", op.name);
  }
  if (op.in_place_read) check_in_place(graph, op);
  for (int read : op.shared_gradient_reads) {
    RC_CHECK(graph.tensors[op.reads.at(read)].shape == graph.tensors[op.writes.at(0)].shape,
             "{} shares a gradient of another shape", op.name);
  }
  if (op.gradient_reuse) {
    RC_CHECK(!op.splits_backward, "{}: its input gradient has nothing to take over", op.name);
    const TensorSpec& from = graph.tensors[op.backward_reads.at(op.gradient_reuse->from)];
    const TensorSpec& to = graph.tensors[op.reads.at(op.gradient_reuse->read)];
    RC_CHECK(from.shape == to.shape && from.dtype == to.dtype, "{} reuses another shape", op.name);
  }
}

}  // namespace

Bytes size_of(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return Bytes(2);
    case DType::kF64:
      return Bytes(8);
    case DType::kF32:
    case DType::kI32:
      return Bytes(4);
  }
  RC_CHECK(false, "dtype {}", static_cast<int>(dtype));
}

std::string_view to_text(DType dtype) {
  constexpr std::array<std::string_view, 4> kNames = {"f32", "bf16", "f64", "i32"};
  return kNames.at(static_cast<size_t>(dtype));
}

int64_t numel(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::string_view to_text(OpKind kind) {
  constexpr std::array<std::string_view, 12> kNames = {"embedding",  "norm",
                                                       "linear",     "rope",
                                                       "attention",  "attention-scores",
                                                       "softmax",    "attention-context",
                                                       "activation", "add",
                                                       "dropout",    "head-loss"};
  return kNames.at(static_cast<size_t>(kind));
}

void check(const LayerGraph& graph) {
  std::vector<int> writers(graph.tensors.size(), 0);
  if (graph.input) ++writers.at(*graph.input);
  for (const Op& op : graph.ops) {
    check_op(graph, op);
    for (TensorId id : op.reads) RC_CHECK(writers[id] == 1, "{} reads unwritten {}", op.name, id);
    for (TensorId id : op.writes) RC_CHECK(++writers[id] == 1, "{} written twice", op.name);
  }
  for (size_t id = 0; id < writers.size(); ++id) {
    RC_CHECK(writers[id] == 1, "nobody writes {}", graph.tensors[id].name);
  }
}

ModelParams collect_params(const ModelGraph& graph) {
  ModelParams params;
  std::unordered_map<std::string, int32_t> known;
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    std::vector<int32_t>& index = params.index.emplace_back();
    for (ParamSpec spec : graph.graph(b).params) {
      if (!spec.model_wide && graph.blocks[b].layer) {
        spec.name = fmt::format("layers.{}.{}", *graph.blocks[b].layer, spec.name);
      }
      const auto [place, fresh] = known.emplace(spec.name, params.specs.size());
      if (fresh) params.specs.push_back(spec);
      RC_CHECK(params.specs[place->second].shape == spec.shape, "{} in two shapes", spec.name);
      index.push_back(place->second);
    }
  }
  return params;
}

int64_t num_trained(const ModelParams& params) {
  return std::accumulate(params.specs.begin(), params.specs.end(), int64_t{0},
                         [](int64_t sum, const ParamSpec& spec) {
                           return sum + (spec.trained ? numel(spec.shape) : 0);
                         });
}

}  // namespace refrain::model
