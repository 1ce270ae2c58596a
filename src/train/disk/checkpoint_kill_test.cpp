// kill -9 at random moments of saving: afterwards a whole checkpoint always loads, and never an
// older one than save() had reported done.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <random>

#include "train/disk/checkpoint.h"
#include "train/disk/sample_checkpoint.h"
#include "train/disk/temp_folder.h"

namespace refrain::train {
namespace {

constexpr int64_t kElements = 1 << 19;  // 6 MiB in all: most of the time goes into writing

/// Saves steps first, first + stride, ... until it is killed; sends each step when save() returns.
[[noreturn]] void save_until_killed(const std::filesystem::path& folder, int64_t first,
                                    int64_t stride, int pipe) {
  CheckpointFolder checkpoints(folder);
  SampleCheckpoint sample(first, kElements);
  int64_t ready = -1;
  if (::write(pipe, &ready, sizeof(ready)) != sizeof(ready)) ::_exit(1);
  for (int64_t step = first;;) {
    checkpoints.save(sample.view());
    if (::write(pipe, &step, sizeof(step)) != sizeof(step)) ::_exit(1);
    step += stride;
    if (stride > 0) sample = SampleCheckpoint(step, kElements);
  }
}

/// Starts a child, kills it `delay_us` after it began saving; the last step it reported.
int64_t saved_before_kill(const std::filesystem::path& folder, int64_t first, int64_t stride,
                          int64_t delay_us) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  EXPECT_GE(child, 0);
  if (child == 0) {
    ::close(pipe[0]);
    save_until_killed(folder, first, stride, pipe[1]);
  }
  ::close(pipe[1]);
  int64_t step = 0, last = -1;
  EXPECT_EQ(::read(pipe[0], &step, sizeof(step)), ssize_t{sizeof(step)});
  const timespec delay = {.tv_sec = delay_us / 1'000'000, .tv_nsec = delay_us % 1'000'000 * 1000};
  ::nanosleep(&delay, nullptr);  // the random moment itself: nothing waits for a result
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  while (::read(pipe[0], &step, sizeof(step)) == sizeof(step)) last = step;
  ::close(pipe[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  return last;
}

int64_t load_whole(const std::filesystem::path& folder) {
  const auto loaded = CheckpointFolder(folder).load();
  EXPECT_TRUE(loaded.value) << to_text(loaded.findings);
  EXPECT_TRUE(loaded.findings.empty()) << to_text(loaded.findings);
  if (!loaded.value) return -1;
  EXPECT_TRUE(SampleCheckpoint(loaded.value->state.step, kElements).equals(*loaded.value));
  return loaded.value->state.step;
}

int64_t save_time_us(const std::filesystem::path& folder, const SampleCheckpoint& sample) {
  const auto begin = std::chrono::steady_clock::now();
  CheckpointFolder(folder).save(sample.view());
  const auto time = std::chrono::steady_clock::now() - begin;
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

/// 40 kills; `stride` 0 saves the same step again and again.
void kill_many_times(int64_t stride) {
  TempFolder folder;
  // Moments up to somewhat more than a save takes here, so that most are in the middle of one.
  const int64_t limit_us = 3 * save_time_us(folder.path(), SampleCheckpoint(1, kElements)) / 2;
  std::mt19937_64 random(stride == 0 ? 1 : 2);
  int64_t newest = 1;
  int num_left_behind = 0;
  for (int round = 0; round < 40; ++round) {
    const auto delay_us = static_cast<int64_t>(random() % limit_us);
    const int64_t saved = saved_before_kill(folder.path(), newest + stride, stride, delay_us);
    for (const std::string& name : names_of(folder.path())) {
      num_left_behind += name.starts_with(".saving-") || name.starts_with(".removing-");
    }
    const int64_t loaded = load_whole(folder.path());
    EXPECT_GE(loaded, std::max(newest, saved));
    ASSERT_GE(loaded, 1);
    newest = loaded;
  }
  EXPECT_GE(num_left_behind, 5) << "the kills did not come in the middle of saves";
  CheckpointFolder(folder.path()).save(SampleCheckpoint(newest + 1, kElements).view());
  EXPECT_EQ(names_of(folder.path()).size(), 3u) << "leftovers, or not the last two and the lock";
}

TEST(CheckpointKill, AWholeCheckpointLoadsAfterwards) { kill_many_times(1); }

TEST(CheckpointKill, AlsoWhileOneOfTheSameStepIsReplaced) { kill_many_times(0); }

}  // namespace
}  // namespace refrain::train
