#include "engine/memory/counting_allocator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace refrain::engine {
namespace {

using program::Account;

Bytes held_for(Account account) { return held_by_account()[static_cast<size_t>(account)]; }

at::Tensor bytes(int64_t count) { return at::empty({count}, at::TensorOptions(at::kByte)); }

class CountingAllocator : public testing::Test {
 protected:
  void SetUp() override {
    install_counting_allocator();
    start_ = held();
  }
  Bytes start_;
};

TEST_F(CountingAllocator, CountsWhatWasAskedForAndForgetsWhatIsFreed) {
  {
    const at::Tensor tensor = bytes(1001);
    EXPECT_EQ(held() - start_, Bytes(1001));
  }
  EXPECT_EQ(held(), start_);
}

TEST_F(CountingAllocator, PostsToTheScopesAccountAndToScratchOutside) {
  const Bytes scratch = held_for(Account::kScratch);
  const Bytes batch = held_for(Account::kBatch);
  at::Tensor inside;
  {
    const AccountScope scope(Account::kBatch);
    inside = bytes(64);
    {
      const AccountScope inner(Account::kGradients);
      EXPECT_EQ(held_for(Account::kGradients), Bytes());
    }
  }
  const at::Tensor outside = bytes(32);
  EXPECT_EQ(held_for(Account::kBatch) - batch, Bytes(64));
  EXPECT_EQ(held_for(Account::kScratch) - scratch, Bytes(32));
}

TEST_F(CountingAllocator, MovesAStorageToAnotherAccount) {
  const at::Tensor tensor = bytes(96);
  const Bytes gradients = held_for(Account::kGradients);
  post_to(tensor, Account::kGradients);
  EXPECT_EQ(held_for(Account::kGradients) - gradients, Bytes(96));
  EXPECT_EQ(held() - start_, Bytes(96));
}

TEST_F(CountingAllocator, PeakIsTheMostHeldSinceItWasReset) {
  reset_peak();
  { const at::Tensor tensor = bytes(5000); }
  const at::Tensor small = bytes(10);
  EXPECT_EQ(peak_held() - start_, Bytes(5000));
  reset_peak();
  EXPECT_EQ(peak_held(), held());
}

TEST_F(CountingAllocator, SeesWhatKernelsAllocate) {
  reset_peak();
  const at::Tensor a = at::ones({8, 8});
  const at::Tensor b = at::mm(a, a);
  EXPECT_EQ(held() - start_, Bytes(2 * 8 * 8 * 4));
}

TEST_F(CountingAllocator, EmptyTensorsHoldNothing) {
  const at::Tensor tensor = bytes(0);
  EXPECT_EQ(held(), start_);
  post_to(tensor, Account::kBatch);
}

TEST_F(CountingAllocator, CountsBackToWhereItWasFromSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 1000; ++i) {
        const AccountScope scope(Account::kBatch);
        at::Tensor tensor = bytes(100 + i + t);
        if (i % 2 == 0) post_to(tensor, Account::kGradients);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(held(), start_);
}

TEST_F(CountingAllocator, BlocksAreAlignedToACacheLine) {
  for (int64_t size : {1, 63, 64, 65, 4097}) {
    const at::Tensor tensor = bytes(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % 64, 0u);
  }
}

}  // namespace
}  // namespace refrain::engine
