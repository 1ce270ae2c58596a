// A stand-in for autograd in which a tensor is only its bytes: ops allocate their outputs and leave
// a node that allocates gradients when backward reaches it, in the order of PyTorch's engine
// (torch/csrc/autograd/engine.cpp, evaluate_function). What a layer keeps then follows from what
// its nodes hold, and recompute is running a piece of the forward a second time.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "mcore/memory/tape/storage.h"

namespace refrain::mcore::memory {

/// Where backward puts the gradient of a tensor of so many bytes.
struct Gradient {
  int64_t bytes = 0;
  Storage storage;
};
using GradientSlot = std::shared_ptr<Gradient>;

/// A storage, or a view of one, and the slot of its gradient, which copies share. By default none.
struct Tensor {
  Storage storage;
  GradientSlot gradient;

  Tensor() = default;
  explicit Tensor(Storage whole);
  Tensor(Storage base, int64_t view_bytes);

  bool exists() const { return gradient != nullptr; }
  /// Also after the storage was let go.
  int64_t bytes() const { return exists() ? gradient->bytes : 0; }
};

/// Takes the gradient out of its slot.
inline Storage take(const GradientSlot& slot) { return std::exchange(slot->storage, nullptr); }

/// What a node hands back: gradients and the slots they are added to.
using Gradients = std::vector<std::pair<GradientSlot, Storage>>;

/// Tensors that leave the device together and come back together. A tensor that has gone meanwhile,
/// or has its memory back already, is passed over. One that joined twice, saved by two nodes, comes
/// back in two copies (bulk_reload_group of the file that OffloadOrder names).
class OffloadGroup {
 public:
  /// Tensors of less than `min_bytes` stay.
  explicit OffloadGroup(int64_t min_bytes) : min_bytes_(min_bytes) {}

  void add(const Storage& storage);
  void evict();
  void reload();

  /// Of all that joined and still exists.
  int64_t bytes() const;

 private:
  int64_t min_bytes_;
  std::vector<std::weak_ptr<Block>> storages_;
  std::vector<Storage> copies_;
};
using OffloadGroupPtr = std::shared_ptr<OffloadGroup>;
using OffloadStack = std::shared_ptr<std::vector<OffloadGroupPtr>>;

/// The nodes of one forward, run backwards once.
class Graph {
 public:
  using Node = std::function<Gradients()>;

  enum class Mode : uint8_t {
    kGradients,
    kNoGradients,  // nodes go at the next `end_of_layer`, with what they hold
  };
  explicit Graph(Memory& memory, Mode mode = Mode::kGradients) : memory_(memory), mode_(mode) {}

  /// `saved` lives until the node ran, and goes into the group that is open for offload.
  void record(std::vector<Storage> saved, Node node);

  /// Locals of a layer's forward live until it returns, also where no gradient is wanted.
  void end_of_layer();

  /// Runs the nodes, last first. A node and what it saved are gone before its gradients are added.
  void backward();

  /// While a group is open, what nodes save joins it.
  void open(OffloadGroupPtr group) { group_ = std::move(group); }
  void close() { group_.reset(); }
  /// For what a node holds besides `saved`.
  void offer(const Storage& storage) const;

  /// Groups that left and are not back yet, the last on top.
  const OffloadStack& offloaded() const { return offloaded_; }

  bool gradients() const { return mode_ == Mode::kGradients; }

 private:
  Memory& memory_;
  Mode mode_;
  std::vector<std::pair<std::vector<Storage>, Node>> nodes_;
  OffloadGroupPtr group_;
  OffloadStack offloaded_ = std::make_shared<std::vector<OffloadGroupPtr>>();
};

/// Adds `gradient` to the slot's. Two gradients become a new one (engine's InputBuffer::add).
void accumulate(Memory& memory, const GradientSlot& slot, Storage gradient);

}  // namespace refrain::mcore::memory
