// Test support: shows that a kernel allocates nothing through LibTorch's CPU allocator.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

namespace refrain::engine {

/// Stands in for LibTorch's CPU allocator while it lives, and counts the calls.
class AllocationCounter final : public c10::Allocator {
 public:
  AllocationCounter() : inner_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this); }
  ~AllocationCounter() override { c10::SetCPUAllocator(inner_); }
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  int64_t count() const { return count_; }

  c10::DataPtr allocate(size_t bytes) override {
    ++count_;
    return inner_->allocate(bytes);
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  c10::Allocator* inner_;
  std::atomic<int64_t> count_ = 0;
};

template <class F>
void expect_no_allocation(const F& f) {
  const AllocationCounter counter;
  f();
  EXPECT_EQ(counter.count(), 0);
}

}  // namespace refrain::engine
