#include "train/disk/checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/error.h"
#include "train/disk/durable_file.h"
#include "train/disk/sample_checkpoint.h"
#include "train/disk/temp_folder.h"

namespace refrain::train {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

void save(const fs::path& folder, int64_t step) {
  CheckpointFolder(folder).save(SampleCheckpoint(step).view());
}

/// The step that loads, which must be whole; -1 where none does.
int64_t loaded_step(const fs::path& folder) {
  const auto loaded = CheckpointFolder(folder).load();
  EXPECT_TRUE(loaded.findings.empty()) << to_text(loaded.findings);
  if (!loaded.value) return -1;
  EXPECT_TRUE(SampleCheckpoint(loaded.value->state.step).equals(*loaded.value));
  return loaded.value->state.step;
}

/// Runs in a child process, whose limits and user it may change; the message of the Error it threw.
std::string error_in_child(const std::function<void()>& action) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string message;
    try {
      action();
    } catch (const std::exception& error) {
      message = error.what();
    }
    const ssize_t count = ::write(pipe[1], message.data(), message.size());
    ::_exit(count == std::ssize(message) ? 0 : 1);
  }
  ::close(pipe[1]);
  std::string message(4096, '\0');
  message.resize(static_cast<size_t>(::read(pipe[0], message.data(), message.size())));
  ::close(pipe[0]);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return message;
}

TEST(Checkpoint, ComesBackBitwise) {
  TempFolder folder;
  const SampleCheckpoint sample(10);
  CheckpointFolder checkpoints(folder / "new/run");
  checkpoints.save(sample.view());
  EXPECT_EQ(names_of(folder / "new/run"), (Names{".lock", "step-00000010"}));
  EXPECT_EQ(names_of(folder / "new/run/step-00000010"),
            (Names{"optimizer.safetensors", "state.json", "weights.safetensors"}));
  const auto loaded = checkpoints.load();
  ASSERT_TRUE(loaded.value) << to_text(loaded.findings);
  EXPECT_TRUE(loaded.findings.empty());
  EXPECT_TRUE(sample.equals(*loaded.value));
  EXPECT_EQ(loaded.value->folder, folder / "new/run/step-00000010");
}

TEST(Checkpoint, TheLastTwoStay) {
  TempFolder folder;
  for (const int64_t step : {0, 5, 10, 99999999, 100000000}) {
    save(folder.path(), step);
    EXPECT_EQ(loaded_step(folder.path()), step);
  }
  EXPECT_EQ(names_of(folder.path()), (Names{".lock", "step-100000000", "step-99999999"}));
}

TEST(Checkpoint, TheSameStepIsReplaced) {
  TempFolder folder;
  save(folder.path(), 5);
  write_file(folder / "step-00000005/mine", "");  // tells the old one from the new one
  save(folder.path(), 5);
  EXPECT_EQ(names_of(folder.path()), (Names{".lock", "step-00000005"}));
  EXPECT_FALSE(fs::exists(folder / "step-00000005/mine"));
  EXPECT_EQ(loaded_step(folder.path()), 5);
}

TEST(Checkpoint, AReplacedOneLoadsUntilTheNewOneIsThere) {
  TempFolder folder;
  save(folder.path(), 5);
  fs::rename(folder / "step-00000005", folder / "step-00000005.replaced");  // and then: kill -9
  EXPECT_EQ(loaded_step(folder.path()), 5);
  save(folder.path(), 5);
  EXPECT_EQ(names_of(folder.path()), (Names{".lock", "step-00000005"}));
}

TEST(Checkpoint, LeftoversOfKilledSavesAreIgnoredAndRemoved) {
  TempFolder folder;
  save(folder.path(), 5);
  fs::copy(folder / "step-00000005", folder / ".saving-step-00000009");
  fs::copy(folder / "step-00000005", folder / ".removing-step-00000003");
  write_file(folder / ".saving-step-00000010/weights.safetensors", "half");
  EXPECT_EQ(loaded_step(folder.path()), 5);
  save(folder.path(), 6);
  EXPECT_EQ(names_of(folder.path()), (Names{".lock", "step-00000005", "step-00000006"}));
}

TEST(Checkpoint, OtherFilesInTheFolderAreLeftAlone) {
  TempFolder folder;
  const Names others = {"notes.txt", "step-", "step-00000004x", "step-1", "step-old"};
  for (const std::string& name : others) write_file(folder / name, "mine");
  for (const int64_t step : {5, 6, 7}) save(folder.path(), step);
  Names expected = others;
  expected.insert(expected.end(), {".lock", "step-00000006", "step-00000007"});
  std::ranges::sort(expected);
  EXPECT_EQ(names_of(folder.path()), expected);
  EXPECT_EQ(loaded_step(folder.path()), 7);
}

TEST(Checkpoint, LaterOnesOfAnotherRunAreKeptAndReported) {
  TempFolder folder;
  save(folder.path(), 100);
  CheckpointFolder checkpoints(folder.path());
  EXPECT_TRUE(checkpoints.check_start(100).empty());
  const Findings findings = checkpoints.check_start(99);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "checkpoint.folder-in-use");
  checkpoints.save(SampleCheckpoint(3).view());
  EXPECT_EQ(names_of(folder.path()), (Names{".lock", "step-00000003", "step-00000100"}));
  EXPECT_TRUE(CheckpointFolder(folder / "new").check_start(0).empty());
}

TEST(Checkpoint, NothingToLoadIsAFinding) {
  TempFolder folder;
  write_file(folder / "file", "x");
  fs::create_directory(folder / "empty");
  for (const std::string_view name : {"missing", "file", "empty"}) {
    const auto loaded = CheckpointFolder(folder / name).load();
    EXPECT_FALSE(loaded.value);
    ASSERT_EQ(loaded.findings.size(), 1u);
    EXPECT_EQ(loaded.findings[0].rule, "checkpoint.none");
    EXPECT_TRUE(rejects(loaded.findings));
  }
}

TEST(Checkpoint, AFullDiskIsAnErrorAndKeepsWhatWasThere) {
  TempFolder folder;
  save(folder.path(), 5);
  const std::string error = error_in_child([&] {
    const rlimit limit = {2000, 2000};  // every file, in bytes: the weights fit, the optimizer not
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    save(folder.path(), 6);
  });
  EXPECT_EQ(error, "cannot write " + (folder / ".saving-step-00000006").string() +
                       "/optimizer.safetensors: File too large");
  EXPECT_EQ(names_of(folder.path()), (Names{".lock", "step-00000005"}));
  EXPECT_EQ(loaded_step(folder.path()), 5);
}

TEST(Checkpoint, AFolderThatCannotBeWrittenIsAnError) {
  TempFolder folder;
  fs::permissions(folder.path(), fs::perms(0755));
  save(folder.path(), 5);
  const std::string error = error_in_child([&] {
    if (::geteuid() != 0) {
      fs::permissions(folder / ".lock", fs::perms(0444));
    } else if (::seteuid(65534) != 0) {  // root may write everywhere: become nobody
      throw Error("cannot become nobody");
    }
    save(folder.path(), 6);
  });
  EXPECT_EQ(error, "cannot create " + (folder / ".lock").string() + ": Permission denied");
  EXPECT_EQ(loaded_step(folder.path()), 5);
  write_file(folder / "file", "x");
  EXPECT_THROW(save(folder / "file/run", 1), Error);
}

TEST(Checkpoint, TwoProcessesCannotSaveIntoOneFolder) {
  TempFolder folder;
  save(folder.path(), 5);
  const FolderLock lock(folder.path());
  EXPECT_EQ(error_in_child([&] { save(folder.path(), 6); }),
            "another process is saving into " + folder.path().string() + ": one run to a folder");
}

}  // namespace
}  // namespace refrain::train
