#include "engine/numerics/parallel.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/numerics/test_tensors.h"

namespace refrain::engine {
namespace {

TEST(Parallel, TwoThreadsWorkAtTheSameTime) {
  const ThreadScope scope(2);
  ASSERT_EQ(num_workers(), 2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::set<int64_t> workers;
  std::atomic<int> arrived = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  parallel_for(2, [&](int64_t, int64_t worker) {
    ++arrived;  // each task waits for the other: one thread alone would time out
    while (arrived < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    workers.insert(worker);
  });
  EXPECT_EQ(threads.size(), 2);
  EXPECT_EQ(workers, (std::set<int64_t>{0, 1}));
}

TEST(Parallel, EveryTaskRunsOnce) {
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    std::vector<std::atomic<int>> runs(1000);
    parallel_for(1000, [&](int64_t task, int64_t worker) {
      ++runs[task];
      EXPECT_LT(worker, threads);
    });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, NoTaskIsNoCall) {
  parallel_for(0, [](int64_t, int64_t) { FAIL(); });
  parallel_rows(0, 8, [](int64_t, int64_t) { FAIL(); });
}

TEST(Parallel, OneThreadAndOneTaskRunInline) {
  const auto here = std::this_thread::get_id();
  const auto expect_here = [&](int64_t, int64_t worker) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_EQ(worker, 0);
  };
  {
    const ThreadScope scope(1);
    parallel_for(50, expect_here);
  }
  const ThreadScope scope(2);
  parallel_for(1, expect_here);
}

TEST(Parallel, NestedLoopRunsInline) {
  const ThreadScope scope(2);
  std::atomic<int64_t> inner_runs = 0;
  parallel_for(8, [&](int64_t, int64_t) {
    EXPECT_EQ(num_workers(), 1);
    const auto outer = std::this_thread::get_id();
    parallel_for(16, [&](int64_t, int64_t worker) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      EXPECT_EQ(worker, 0);
      ++inner_runs;
    });
  });
  EXPECT_EQ(inner_runs, 8 * 16);
  EXPECT_EQ(num_workers(), 2);
}

TEST(Parallel, LoopInsideALoopOfOneTaskRunsInlineToo) {
  const ThreadScope scope(2);
  const auto here = std::this_thread::get_id();
  parallel_for(1, [&](int64_t, int64_t) {
    EXPECT_EQ(num_workers(), 1);
    parallel_for(16, [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), here); });
  });
  EXPECT_EQ(num_workers(), 2);
}

TEST(Parallel, LibraryLoopInsideATaskStaysOnItsThread) {
  const ThreadScope scope(2);
  parallel_for(4, [&](int64_t, int64_t) { EXPECT_TRUE(at::in_parallel_region()); });
}

TEST(Parallel, ExceptionOfATaskArrivesAndLaterLoopsWork) {
  for (const int threads : {1, 2}) {
    const ThreadScope scope(threads);
    const auto fail = [](int64_t task, int64_t) {
      if (task == 5) throw std::runtime_error("task five");
    };
    EXPECT_THROW(parallel_for(100, fail), std::runtime_error);
    EXPECT_EQ(num_workers(), threads);
    std::atomic<int> runs = 0;
    parallel_for(10, [&](int64_t, int64_t) { ++runs; });
    EXPECT_EQ(runs, 10);
  }
}

TEST(Parallel, RowsAreCutTheSameWayForAnyNumberOfThreads) {
  for (const int threads : {1, 2}) {
    const ThreadScope scope(threads);
    std::mutex mutex;
    std::set<std::pair<int64_t, int64_t>> pieces;
    parallel_rows(10, 4, [&](int64_t begin, int64_t end) {
      const std::lock_guard lock(mutex);
      pieces.insert({begin, end});
    });
    EXPECT_EQ(pieces, (std::set<std::pair<int64_t, int64_t>>{{0, 4}, {4, 8}, {8, 10}}));
  }
}

}  // namespace
}  // namespace refrain::engine
