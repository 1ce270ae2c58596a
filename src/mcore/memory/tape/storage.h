// Device memory as PyTorch's tensors share it: a storage lives until the last tensor that refers to
// it is gone (c10/core/StorageImpl.h). Allocations and frees go to a recorder as they happen.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "allocator/recorder.h"

namespace refrain::mcore::memory {

class Memory;

/// One storage. It can lose its memory while tensors still refer to it, and get it back: what
/// output-discarding recompute and offload do.
class Block {
 public:
  Block(Memory& memory, int64_t bytes, allocator::PostingId posting);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  int64_t bytes() const { return bytes_; }
  bool resident() const { return resident_; }

  /// Gives the memory back; nothing where it is given back already.
  void discard();
  /// Allocates the memory again; nothing where it is there.
  void restore();
  /// A storage of its own, of as many bytes and posted alike.
  std::shared_ptr<Block> copy() const;
  /// Takes over the memory of `other`, of equal size, which is left without any. This one has none.
  void adopt(Block& other);

 private:
  Memory& memory_;
  int64_t bytes_;
  allocator::PostingId posting_;
  allocator::BlockId block_;
  bool resident_ = true;
};

using Storage = std::shared_ptr<Block>;

/// Where storages come from. It must outlive them.
class Memory {
 public:
  /// A storage posted to `account` ("saved/attention.qkv"); null for bytes <= 0.
  Storage allocate(int64_t bytes, std::string_view account);

  /// Allocates and frees at once.
  void touch(int64_t bytes, std::string_view account) { allocate(bytes, account); }

  /// The next allocation or free begins `phase` of the current step.
  void mark(std::string_view phase) { recorder_.mark(step_ + std::string(phase)); }

  /// Phases from here on belong to `step`: "step 1".
  void begin(std::string_view step) { step_ = std::string(step) + ": "; }

  /// Hands over what happened. What is freed afterwards, as the run is taken down, is not recorded.
  allocator::Stream take();

 private:
  friend class Block;

  allocator::Recorder recorder_;
  std::string step_;
  bool closed_ = false;
};

}  // namespace refrain::mcore::memory
