#include "train/disk/durable_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "train/disk/mapped_file.h"
#include "train/disk/temp_folder.h"

namespace refrain::train {
namespace {

TEST(DurableFile, HoldsWhatWasWrittenAndItsSum) {
  TempFolder folder;
  const std::string large(3 << 20, 'y');
  DurableFile file(folder / "f");
  file.write("abc");
  file.write(std::string_view());
  file.write(large);
  const FileSum sum = file.close();
  const std::string text = read_file(folder / "f");
  EXPECT_EQ(text, "abc" + large);
  EXPECT_EQ(sum, (FileSum{std::ssize(text), checksum_of(text)}));
  EXPECT_EQ(std::get<FileSum>(sum_file(folder / "f")), sum);
}

TEST(DurableFile, EmptiesWhatWasThere) {
  TempFolder folder;
  write_file(folder / "f", "a long text");
  DurableFile file(folder / "f");
  file.write("b");
  file.close();
  EXPECT_EQ(read_file(folder / "f"), "b");
}

TEST(DurableFile, SaysWhatItCouldNotDo) {
  TempFolder folder;
  const auto message = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  write_file(folder / "file", "x");
  const std::string file = (folder / "file").string(), base = folder.path().string();
  EXPECT_EQ(message([&] { DurableFile(folder / "no/f"); }),
            "cannot create " + base + "/no/f: No such file or directory");
  EXPECT_EQ(message([&] { DurableFile("/dev/full").write("x"); }),
            "cannot write /dev/full: No space left on device");
  EXPECT_EQ(message([&] { create_folder(folder / "file/sub"); }),
            "cannot create folder " + file + ": File exists");
  EXPECT_EQ(message([&] { create_folder(folder / std::string(300, 'x')); }),
            "cannot create folder " + base + "/" + std::string(300, 'x') + ": File name too long");
  std::filesystem::create_symlink("nowhere", folder / "link");
  EXPECT_EQ(message([&] { create_folder(folder / "link"); }),
            "cannot create folder " + base + "/link: File exists");
  EXPECT_EQ(message([&] { sync_folder(folder / "file"); }),
            "cannot open folder " + file + ": Not a directory");
  EXPECT_EQ(message([&] { rename_folder(folder / "a", folder / "b"); }),
            "cannot rename " + base + "/a to " + base + "/b: No such file or directory");
}

TEST(CreateFolder, CreatesWhatIsMissing) {
  TempFolder folder;
  create_folder(folder / "a/b/c/");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
  create_folder(folder / "a/b/c");
  create_folder("/");
}

TEST(RemoveFolder, RemovesAllOrNothing) {
  TempFolder folder;
  write_file(folder / "a/b/c", "x");
  remove_folder(folder / "a");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  remove_folder(folder / "a");
}

TEST(FolderLock, KeepsOtherProcessesOut) {
  TempFolder folder;
  const FolderLock lock(folder.path());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      const FolderLock second(folder.path());
      ::_exit(1);
    } catch (const Error&) {
      ::_exit(0);
    }
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(FolderLock, IsGivenUp) {
  TempFolder folder;
  { const FolderLock lock(folder.path()); }
  const FolderLock again(folder.path());
}

TEST(SumFile, TellsWhyItCannot) {
  EXPECT_EQ(std::get<std::error_code>(sum_file("/nonexistent")),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(std::get<std::error_code>(sum_file("/")), std::errc::is_a_directory);
}

TEST(MapFile, GivesTheBytesOrTheReason) {
  TempFolder folder;
  write_file(folder / "f", "text");
  write_file(folder / "empty", "");
  auto mapped = map_file(folder / "f");
  const auto bytes = std::get<MappedFile>(mapped).bytes();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "text");
  EXPECT_TRUE(std::get<MappedFile>(map_file(folder / "empty")).bytes().empty());
  EXPECT_EQ(std::get<std::error_code>(map_file(folder / "no")),
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(std::get<std::error_code>(map_file(folder.path())), std::errc::invalid_argument);
}

}  // namespace
}  // namespace refrain::train
