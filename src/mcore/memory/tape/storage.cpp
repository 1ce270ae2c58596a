#include "mcore/memory/tape/storage.h"

#include "base/error.h"

namespace refrain::mcore::memory {

Block::Block(Memory& memory, int64_t bytes, allocator::PostingId posting)
    : memory_(memory),
      bytes_(bytes),
      posting_(posting),
      block_(memory.recorder_.allocate(bytes, posting)) {}

Block::~Block() { discard(); }

void Block::discard() {
  if (!resident_) return;
  if (!memory_.closed_) memory_.recorder_.free(block_);
  resident_ = false;
}

void Block::restore() {
  if (resident_) return;
  block_ = memory_.recorder_.allocate(bytes_, posting_);
  resident_ = true;
}

std::shared_ptr<Block> Block::copy() const {
  return std::make_shared<Block>(memory_, bytes_, posting_);
}

void Block::adopt(Block& other) {
  RC_CHECK(!resident_ && other.resident_ && bytes_ == other.bytes_, "{} and {} bytes", bytes_,
           other.bytes_);
  block_ = other.block_;
  resident_ = true;
  other.resident_ = false;
}

Storage Memory::allocate(int64_t bytes, std::string_view account) {
  if (bytes <= 0) return nullptr;
  return std::make_shared<Block>(*this, bytes, recorder_.posting(account));
}

allocator::Stream Memory::take() {
  closed_ = true;
  return recorder_.take();
}

}  // namespace refrain::mcore::memory
