#include "train/data/corpus.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "train/disk/temp_folder.h"

namespace refrain::train {
namespace {

namespace fs = std::filesystem;

std::string text_of(const Corpus& corpus) {
  std::string text(corpus.size(), '\0');
  corpus.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

/// The text of a corpus without findings.
std::string open_text(const fs::path& path) {
  const auto opened = open_corpus(path);
  EXPECT_TRUE(opened.findings.empty()) << to_text(opened.findings);
  return opened.value ? text_of(*opened.value) : "";
}

void expect_finding(std::string_view rule, const fs::path& path) {
  const auto opened = open_corpus(path);
  EXPECT_FALSE(opened.value);
  EXPECT_TRUE(rejects(opened.findings));
  ASSERT_FALSE(opened.findings.empty());
  EXPECT_EQ(opened.findings.back().rule, rule) << to_text(opened.findings);
  EXPECT_FALSE(opened.findings.back().remedy.empty());
  EXPECT_NE(opened.findings.back().message.find(path.string()), std::string::npos);
}

TEST(Corpus, AFileIsItsBytes) {
  TempFolder folder;
  const std::string bytes("a\0\xff\n", 4);  // named itself, a file may be anything
  write_file(folder / ".hidden", bytes);
  EXPECT_EQ(open_text(folder / ".hidden"), bytes);
}

TEST(Corpus, AFolderIsItsFilesInTheOrderOfTheirPaths) {
  TempFolder folder;
  write_file(folder / "b/1", "4");
  write_file(folder / "b.txt", "3");  // '.' sorts before '/'
  write_file(folder / "b-", "2");
  write_file(folder / "B", "1");
  write_file(folder / "b/0/x", "");
  write_file(folder / "c", "5");
  fs::remove(folder / "b/0/x");
  EXPECT_EQ(open_text(folder.path()), "12345");
  EXPECT_EQ(open_text(folder.path().string() + "/"), "12345");
  EXPECT_EQ(open_corpus(folder.path()).value->num_files(), 5);
}

TEST(Corpus, ReadsAcrossFiles) {
  TempFolder folder;
  std::string whole;
  for (int i = 0; i < 20; ++i) {
    const std::string piece(1 + i * 7 % 5, static_cast<char>('a' + i));
    write_file(folder / std::to_string(100 + i), piece);
    whole += piece;
  }
  const auto opened = open_corpus(folder.path());
  ASSERT_TRUE(opened.value);
  const auto size = static_cast<size_t>(opened.value->size());
  ASSERT_EQ(size, whole.size());
  for (size_t begin = 0; begin <= size; ++begin) {
    for (size_t count = 0; begin + count <= size; ++count) {
      std::string text(count, '\0');
      opened.value->read(begin, std::as_writable_bytes(std::span(text)));
      ASSERT_EQ(text, whole.substr(begin, count));
    }
  }
  std::string two(2, '\0');
  const auto out = std::as_writable_bytes(std::span(two));
  EXPECT_THROW(opened.value->read(opened.value->size() - 1, out), Bug);
  EXPECT_THROW(opened.value->read(-1, out), Bug);
}

TEST(Corpus, WhatIsPassedOverIsCounted) {
  TempFolder folder;
  write_file(folder / "a", "text");
  write_file(folder / ".git/config", "hidden");
  write_file(folder / "sub/.secret", "hidden");
  write_file(folder / "empty", "");
  write_file(folder / "binary", std::string(4095, 'x') + '\0');
  write_file(folder / "late-zero", std::string(4096, 'x') + '\0');
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const auto opened = open_corpus(folder.path());
  ASSERT_TRUE(opened.value) << to_text(opened.findings);
  EXPECT_EQ(opened.value->num_files(), 2);
  ASSERT_EQ(opened.findings.size(), 1u);
  EXPECT_EQ(opened.findings[0].rule, "data.skipped");
  EXPECT_EQ(opened.findings[0].severity, Severity::kNote);
  EXPECT_EQ(opened.findings[0].message,
            "passed over: 2 hidden, 1 empty, 1 not text (a zero byte in the first 4 KiB), "
            "1 neither file nor folder");
}

TEST(Corpus, LinksAreFollowedOnceAndLoopsEnd) {
  TempFolder folder, other;
  write_file(folder / "z/text", "1");
  write_file(other / "more", "2");
  fs::create_directory_symlink(folder.path(), folder / "z/loop");
  fs::create_directory_symlink("z", folder / "again");
  fs::create_symlink(folder / "z/text", folder / "a");
  fs::create_directory_symlink(other.path(), folder / "other");
  fs::create_directory_symlink(folder.path(), other / "back");
  const auto opened = open_corpus(folder.path());
  ASSERT_TRUE(opened.value) << to_text(opened.findings);
  EXPECT_EQ(text_of(*opened.value), "21");  // other/more, z/text
  ASSERT_EQ(opened.findings.size(), 1u);
  EXPECT_EQ(opened.findings[0].message, "passed over: 4 reached again through a symbolic link");
}

TEST(Corpus, ALinkMayBeNamedItself) {
  TempFolder folder;
  write_file(folder / "dir/text", "1");
  fs::create_directory_symlink("dir", folder / "to-dir");
  fs::create_symlink("dir/text", folder / "to-text");
  EXPECT_EQ(open_text(folder / "to-dir"), "1");
  EXPECT_EQ(open_text(folder / "to-text"), "1");
}

TEST(Corpus, WhatCannotBeReadIsAFinding) {
  TempFolder folder;
  write_file(folder / "a", "text");
  fs::create_symlink("nowhere", folder / "dangling");
  fs::create_symlink("itself", folder / "itself");
  expect_finding("data.unreadable", folder.path());
  const std::string message = open_corpus(folder.path()).findings[0].message;
  EXPECT_NE(message.find("2 cannot be read"), std::string::npos) << message;
  EXPECT_NE(message.find("dangling: No such file or directory"), std::string::npos) << message;
  expect_finding("data.unreadable", folder / "itself");
}

/// While it lives this process may read no more than others may; for tests that run as root.
class AsNobody {
 public:
  AsNobody() : user_(::geteuid()) {
    if (user_ == 0) {
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  ~AsNobody() {
    if (user_ == 0) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }

 private:
  uid_t user_;
};

TEST(Corpus, WhatMayNotBeReadIsAFinding) {
  TempFolder folder;
  write_file(folder / "a", "text");
  write_file(folder / "locked/b", "text");
  fs::permissions(folder.path(), fs::perms(0755));
  fs::permissions(folder / "a", fs::perms(0));
  fs::permissions(folder / "locked", fs::perms(0));
  std::string message;
  {
    const AsNobody nobody;
    expect_finding("data.unreadable", folder / "a");
    message = open_corpus(folder.path()).findings.at(0).message;
  }
  EXPECT_NE(message.find("2 cannot be read"), std::string::npos) << message;
  EXPECT_NE(message.find("locked: Permission denied"), std::string::npos) << message;
  fs::permissions(folder / "locked", fs::perms(0700));
}

TEST(Corpus, ManyUnreadableFilesAreCounted) {
  TempFolder folder;
  for (int i = 0; i < 12; ++i) fs::create_symlink("no", folder / fmt::format("{:02}", i));
  const std::string message = open_corpus(folder.path()).findings[0].message;
  EXPECT_NE(message.find("/04: No such file or directory; and 7 more"), std::string::npos)
      << message;
}

TEST(Corpus, NoTextIsAFinding) {
  TempFolder folder;
  expect_finding("data.missing", folder / "missing");
  expect_finding("data.missing", "");
  expect_finding("data.empty", folder.path());
  write_file(folder / "empty", "");
  expect_finding("data.empty", folder / "empty");
  expect_finding("data.empty", folder.path());
  expect_finding("data.not-a-file", "/dev/zero");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_finding("data.not-a-file", folder / "pipe");
}

TEST(DefaultCorpus, TheEnvironmentNamesAnother) {
  ::setenv("REFRAIN_CORPUS", "/some/where", 1);
  EXPECT_EQ(default_corpus_path().value, "/some/where");
  ::unsetenv("REFRAIN_CORPUS");
}

TEST(DefaultCorpus, IsTextEnoughOrAFinding) {
  ::unsetenv("REFRAIN_CORPUS");
  const auto path = default_corpus_path();
  if (!path.value) {
    ASSERT_EQ(path.findings.size(), 1u);
    EXPECT_EQ(path.findings[0].rule, "data.no-default");
    return;
  }
  const auto opened = open_corpus(*path.value);
  ASSERT_TRUE(opened.value) << to_text(opened.findings);
  EXPECT_GT(opened.value->size(), 10 << 20);
}

}  // namespace
}  // namespace refrain::train
