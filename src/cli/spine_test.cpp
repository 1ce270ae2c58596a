#include "cli/spine.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "base/error.h"
#include "base/text_file.h"

namespace refrain::cli {
namespace {

using Words = std::vector<std::string>;

int run(Words words) {
  const Subcommand subcommands[] = {
      {"seven", "ends with 7", [](const Words&) { return 7; }},
      {"count", "ends with the number of its arguments",
       [](const Words& arguments) { return static_cast<int>(arguments.size()); }},
      {"fail", "the world fails", [](const Words&) -> int { throw Error("reading {}", "it"); }},
      {"bug", "we fail", [](const Words&) -> int { throw Bug("wrong"); }},
      {"check", "a check fails",
       [](const Words& a) {
         RC_CHECK(a.empty() && false);
         return 0;
       }},
      {"memory", "no memory", [](const Words&) -> int { throw std::bad_alloc(); }},
      {"other", "unforeseen", [](const Words&) -> int { throw std::runtime_error("?"); }},
  };
  words.insert(words.begin(), "refrain");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStderr();
  const int code = run_spine("refrain", subcommands, static_cast<int>(argv.size()), argv.data());
  testing::internal::GetCapturedStderr();
  return code;
}

TEST(Spine, ACommandsExitCodeIsTheProgramsAndItGetsWhatFollowsItsName) {
  EXPECT_EQ(run({"seven"}), 7);
  EXPECT_EQ(run({"count"}), 0);
  EXPECT_EQ(run({"count", "a", "--b"}), 2);
}

TEST(Spine, EveryKindOfFailureHasItsExitCode) {
  EXPECT_EQ(run({"fail"}), kExitError);
  EXPECT_EQ(run({"memory"}), kExitError);
  EXPECT_EQ(run({"bug"}), kExitBug);
  EXPECT_EQ(run({"check"}), kExitBug);
  EXPECT_EQ(run({"other"}), kExitBug);
  EXPECT_EQ(run({"nonsense"}), kExitFindings);
  EXPECT_EQ(run({}), kExitFindings);
}

TEST(Spine, ToldTextHoldsNothingThatATerminalWouldActOn) {
  const Subcommand subcommands[] = {
      {"fail", "fails", [](const Words&) -> int { throw Error("reading {}", "a\x1b[31m"); }}};
  std::string program = "refrain", name = "fail";
  char* argv[] = {program.data(), name.data()};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_spine("refrain", subcommands, 2, argv), kExitError);
  tell({{"a.rule", "b\x1b[31m", "c\x7f"}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: reading a\\x1b[31m\nerror[a.rule]: b\\x1b[31m\n  remedy: c\\x7f\n");
}

TEST(Save, WritesTheFileOrSaysWhatForAndWhy) {
  const std::string path = testing::TempDir() + "spine_test.save";
  save("writing it", path, "text");
  EXPECT_EQ(read_file(path, 10).text, "text");
  try {
    save("writing it", "/dev/full", "text");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "writing it: '/dev/full' cannot be written: No space left on device");
  }
}

TEST(Spine, RunsWithoutAnyArgumentAtAll) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_spine("refrain", {}, 0, nullptr), kExitFindings);
  testing::internal::GetCapturedStderr();
}

TEST(Answer, HelpIsDoneAndFindingsReject) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(answer(Parsed<int>{"help", {}}), kExitOk);
  EXPECT_EQ(answer(Parsed<int>{{}, Checked<int>::reject({{"a.rule", "m", "r"}})}), kExitFindings);
  EXPECT_EQ(answer(Parsed<int>{{}, Checked<int>::accept(3)}), std::nullopt);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "help");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("error[a.rule]: m"), std::string::npos);
}

}  // namespace
}  // namespace refrain::cli
