#include "base/text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace refrain {
namespace {

namespace fs = std::filesystem;

class TextFile : public testing::Test {
 protected:
  TextFile() : folder_(testing::TempDir() + "text_file_test." + std::to_string(getpid())) {
    fs::create_directory(folder_);
  }
  ~TextFile() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

/// "trouble reason", or the text.
std::string outcome(const FileText& read) {
  if (!read.trouble) return read.text;
  constexpr const char* kNames[] = {"missing", "folder", "special", "unreadable", "too large"};
  EXPECT_EQ(read.text, "");
  return std::string(kNames[static_cast<size_t>(*read.trouble)]) + ": " + read.reason;
}

TEST_F(TextFile, IsReadAsItWasWrittenInPlaceOfAnother) {
  const std::string bytes("a\0\r\n\xff", 5);
  ASSERT_EQ(write_file(path("a"), "something longer than that"), std::nullopt);
  ASSERT_EQ(write_file(path("a"), bytes), std::nullopt);
  EXPECT_EQ(outcome(read_file(path("a"), 100)), bytes);
  ASSERT_EQ(write_file(path("a"), ""), std::nullopt);
  EXPECT_EQ(outcome(read_file(path("a"), 0)), "");
}

TEST_F(TextFile, IsReadUpToItsLimitAndNotBeyond) {
  for (const size_t size : {1, 65535, 65536, 65537, 200000}) {
    const std::string text(size, 'x');
    ASSERT_EQ(write_file(path("a"), text), std::nullopt);
    EXPECT_EQ(outcome(read_file(path("a"), size)), text);
    EXPECT_EQ(outcome(read_file(path("a"), size - 1)),
              "too large: has more than " + std::to_string(size - 1) + " bytes");
  }
  EXPECT_EQ(outcome(read_file("/dev/zero", 70000)), "too large: has more than 70000 bytes");
}

TEST_F(TextFile, ThatIsNoneSaysWhy) {
  EXPECT_EQ(outcome(read_file(path("none"), 9)), "missing: does not exist");
  EXPECT_EQ(outcome(read_file(path("none/none"), 9)), "missing: does not exist");
  EXPECT_EQ(outcome(read_file(std::string(100000, 'x'), 9)), "missing: does not exist");
  EXPECT_EQ(outcome(read_file(path(""), 9)), "folder: is a folder");
  EXPECT_EQ(outcome(read_file("/dev/null", 9)), "");
  EXPECT_EQ(outcome(read_file("/dev/null", 9, SpecialFiles::kRefuse)),
            "special: is no regular file");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(outcome(read_file(path("pipe"), 9, SpecialFiles::kRefuse)),
            "special: is no regular file");
}

TEST_F(TextFile, ThatMayNotBeReadOrWrittenSaysWhy) {
  EXPECT_EQ(outcome(read_file("/proc/self/mem", 9)),
            "unreadable: cannot be read: Input/output error");
  EXPECT_EQ(write_file(path("none/a"), "x"), "cannot be written: No such file or directory");
  EXPECT_EQ(write_file(path(""), "x"), "cannot be written: Is a directory");
  EXPECT_EQ(write_file("/dev/full", "x"), "cannot be written: No space left on device");
  EXPECT_EQ(write_file("/dev/full", std::string(1 << 20, 'x')),
            "cannot be written: No space left on device");
}

}  // namespace
}  // namespace refrain
