#include "train/data/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "base/error.h"
#include "train/disk/temp_folder.h"

namespace refrain::train {
namespace {

/// Bytes that tell their place: window w of `seq` begins with w in two bytes.
Corpus numbered_corpus(const std::filesystem::path& path, int64_t num_windows, int64_t seq) {
  std::string text;
  for (int64_t w = 0; w < num_windows; ++w) {
    text += static_cast<char>(w / 256);
    text += static_cast<char>(w % 256);
    for (int64_t i = 2; i <= seq; ++i) text += static_cast<char>(w * 31 + i);
  }
  write_file(path, text + std::string(seq, 'z'));  // a rest that makes no window
  auto opened = open_corpus(path);
  return std::move(*opened.value);
}

struct Window {
  std::vector<int32_t> tokens, targets;
  int64_t number() const { return tokens[0] * 256 + tokens[1]; }
  bool operator==(const Window&) const = default;
};

Window train_window(const Windows& windows, int64_t index) {
  Window window{std::vector<int32_t>(windows.seq()), std::vector<int32_t>(windows.seq())};
  windows.train(index, window.tokens, window.targets);
  return window;
}

Window held_out_window(const Windows& windows, int64_t index) {
  Window window{std::vector<int32_t>(windows.seq()), std::vector<int32_t>(windows.seq())};
  windows.held_out(index, window.tokens, window.targets);
  return window;
}

class WindowsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kWindows = 1003, kSeq = 7;
  TempFolder folder_;
};

TEST_F(WindowsTest, TargetsAreTheNextBytes) {
  auto made = make_windows(numbered_corpus(folder_ / "text", 300, kSeq), kSeq, 1);
  ASSERT_TRUE(made.value);
  const Window window = train_window(*made.value, 12);
  const int64_t w = window.number();
  for (int64_t i = 2; i < kSeq; ++i) EXPECT_EQ(window.tokens[i], (w * 31 + i) % 256);
  for (int64_t i = 0; i + 1 < kSeq; ++i) EXPECT_EQ(window.targets[i], window.tokens[i + 1]);
  EXPECT_EQ(window.targets[kSeq - 1], (w * 31 + kSeq) % 256);
}

TEST_F(WindowsTest, EveryWindowIsTrainedOnOnceAnEpochOrHeldOut) {
  const auto made = make_windows(numbered_corpus(folder_ / "text", kWindows, kSeq), kSeq, 5);
  const Windows& windows = *made.value;
  EXPECT_EQ(windows.num_held_out(), 50);
  EXPECT_EQ(windows.num_train() + windows.num_held_out(), kWindows);
  std::vector<int64_t> orders[2];
  std::set<int64_t> all;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    for (int64_t i = 0; i < windows.num_train(); ++i) {
      orders[epoch].push_back(train_window(windows, epoch * windows.num_train() + i).number());
    }
  }
  EXPECT_NE(orders[0], orders[1]);
  all.insert(orders[0].begin(), orders[0].end());
  EXPECT_EQ(std::ssize(all), windows.num_train());
  EXPECT_EQ(all, std::set<int64_t>(orders[1].begin(), orders[1].end()));
  for (int64_t i = 0; i < windows.num_held_out(); ++i) {
    EXPECT_TRUE(all.insert(held_out_window(windows, i).number()).second);
  }
  EXPECT_EQ(std::ssize(all), kWindows);
  EXPECT_EQ(*all.rbegin(), kWindows - 1);
}

TEST_F(WindowsTest, SplitAndOrderFollowFromTheSeed) {
  const auto order = [&](uint64_t seed) {
    const auto made = make_windows(numbered_corpus(folder_ / "text", kWindows, kSeq), kSeq, seed);
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < 30; ++i) {
      numbers.push_back(train_window(*made.value, i).number());
      numbers.push_back(held_out_window(*made.value, i).number());
    }
    return numbers;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
  EXPECT_FALSE(std::ranges::is_sorted(order(1)));
}

TEST_F(WindowsTest, AMicroBatchIsAFunctionOfItsPlace) {
  const auto made = make_windows(numbered_corpus(folder_ / "text", kWindows, kSeq), kSeq, 5);
  const Windows& windows = *made.value;
  // Steps of 2 micro-batches of 3, against 1 of 6 and against the single windows.
  for (const int64_t step : {0, 1, 400, 123456789}) {
    std::vector<int32_t> whole(6 * kSeq), whole_targets(6 * kSeq);
    windows.train(MicroBatch{.step = step, .index = 0, .count = 1, .size = 6}, whole,
                  whole_targets);
    for (int64_t index = 0; index < 2; ++index) {
      std::vector<int32_t> tokens(3 * kSeq), targets(3 * kSeq);
      windows.train(MicroBatch{.step = step, .index = index, .count = 2, .size = 3}, tokens,
                    targets);
      EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), whole.begin() + index * 3 * kSeq));
      EXPECT_TRUE(
          std::equal(targets.begin(), targets.end(), whole_targets.begin() + index * 3 * kSeq));
    }
    const Window last = train_window(windows, step * 6 + 5);
    EXPECT_TRUE(std::equal(last.tokens.begin(), last.tokens.end(), whole.end() - kSeq));
  }
}

TEST_F(WindowsTest, TwoWindowsAreTheLeast) {
  const auto open_bytes = [&](size_t size) {
    write_file(folder_ / "text", std::string(size, 'x'));
    return std::move(*open_corpus(folder_ / "text").value);
  };
  const auto enough = make_windows(open_bytes(16), kSeq, 1);
  ASSERT_TRUE(enough.value);
  EXPECT_EQ(enough.value->num_train(), 1);
  EXPECT_EQ(enough.value->num_held_out(), 1);
  const auto too_small = make_windows(open_bytes(15), kSeq, 1);
  EXPECT_FALSE(too_small.value);
  ASSERT_EQ(too_small.findings.size(), 1u);
  EXPECT_EQ(too_small.findings[0].rule, "data.too-small");
  EXPECT_EQ(too_small.findings[0].remedy, "--seq 6 or less, or give --data more text");
  EXPECT_TRUE(make_windows(open_bytes(15), 6, 1).value);  // the remedy helps
  EXPECT_FALSE(make_windows(open_bytes(3), 1, 1).value);
}

TEST_F(WindowsTest, BytesAbove127ArePositiveTokens) {
  write_file(folder_ / "text", std::string(100, '\xff'));
  const auto made = make_windows(std::move(*open_corpus(folder_ / "text").value), 4, 1);
  EXPECT_EQ(train_window(*made.value, 0).tokens, std::vector<int32_t>(4, 255));
}

TEST_F(WindowsTest, ThreadsReadTheSame) {
  const auto made = make_windows(numbered_corpus(folder_ / "text", kWindows, kSeq), kSeq, 5);
  const Windows& windows = *made.value;
  std::vector<std::vector<Window>> read(4);
  std::vector<std::thread> threads;
  for (auto& mine : read) {
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 500; ++i) mine.push_back(train_window(windows, i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : read) EXPECT_EQ(mine, read[0]);
}

TEST_F(WindowsTest, RefusesWhatIsOutside) {
  const auto made = make_windows(numbered_corpus(folder_ / "text", kWindows, kSeq), kSeq, 5);
  EXPECT_THROW(train_window(*made.value, -1), Bug);
  EXPECT_THROW(held_out_window(*made.value, made.value->num_held_out()), Bug);
  std::vector<int32_t> few(kSeq - 1), right(kSeq);
  EXPECT_THROW(made.value->train(0, few, right), Bug);
}

}  // namespace
}  // namespace refrain::train
