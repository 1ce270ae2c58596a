// Runs every case of the *.cases files beside this one. A case is
//
//   == what it shows, in words
//   $ a line of shell (refrain is in PATH; the working directory is this folder)
//   exit 2                  the exit code (0 where nothing is said)
//   rule cli.unknown-flag   a finding or note with this id is on stderr; without any such line,
//                           stderr holds no finding
//   out some text           stdout contains it; `err` for stderr
//   no-out some text        stdout does not contain it; `no-err` for stderr
//   json /key/inside        stdout is one JSON value and has this place in it
//
// A line that starts with # is a comment.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "sandbox.h"

namespace refrain::cases {
namespace {

namespace fs = std::filesystem;

struct Expectation {
  std::string kind, text;
};

struct Case {
  std::string file, title, command;
  std::vector<Expectation> expectations;
};

// GoogleTest would print the bytes, and with them addresses, into the test's name.
void PrintTo(const Case& c, std::ostream* out) { *out << c.file; }

std::vector<Case> read_cases(const fs::path& path) {
  std::vector<Case> cases;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t blank = line.find(' ');
    const std::string kind = line.substr(0, blank);
    const std::string text = blank == line.npos ? "" : line.substr(blank + 1);
    if (kind == "==") {
      cases.push_back({path.stem().string(), text, "", {}});
    } else if (cases.empty()) {
      throw Error("{}: a case must begin with ==: {}", path.string(), line);
    } else if (kind == "$") {
      cases.back().command = text;
    } else {
      cases.back().expectations.push_back({kind, text});
    }
  }
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(REFRAIN_SOURCE_DIR "/tests/cases")) {
    if (entry.path().extension() == ".cases") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const fs::path& file : files) {
    for (Case& one : read_cases(file)) cases.push_back(std::move(one));
  }
  return cases;
}

std::string test_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.file + "_" + info.param.title;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name + "_" + std::to_string(info.index);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool has_finding(const std::string& err) {
  return contains("\n" + err, "\nerror[") || contains("\n" + err, "\nnote[");
}

void expect(const Expectation& expected, const Outcome& outcome) {
  const std::string& text = expected.text;
  if (expected.kind == "exit") {
    EXPECT_EQ(std::to_string(outcome.exit_code), text);
  } else if (expected.kind == "rule") {
    EXPECT_TRUE(contains(outcome.err, "[" + text + "]: ")) << text;
  } else if (expected.kind == "out") {
    EXPECT_TRUE(contains(outcome.out, text)) << text;
  } else if (expected.kind == "err") {
    EXPECT_TRUE(contains(outcome.err, text)) << text;
  } else if (expected.kind == "no-out") {
    EXPECT_FALSE(contains(outcome.out, text)) << text;
  } else if (expected.kind == "no-err") {
    EXPECT_FALSE(contains(outcome.err, text)) << text;
  } else if (expected.kind == "json") {
    const auto value = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_FALSE(value.is_discarded()) << "stdout is no JSON";
    EXPECT_TRUE(value.contains(nlohmann::json::json_pointer(text))) << text;
  } else {
    ADD_FAILURE() << "no such expectation: " << expected.kind;
  }
}

class CaseFile : public testing::TestWithParam<Case> {};

TEST_P(CaseFile, Holds) {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(GetParam().command);
  SCOPED_TRACE("$ " + GetParam().command + "\n--- stdout\n" + outcome.out.substr(0, 2000) +
               "\n--- stderr\n" + outcome.err);
  const auto says = [](const char* kind) {
    const auto& all = GetParam().expectations;
    return std::any_of(all.begin(), all.end(), [&](const auto& e) { return e.kind == kind; });
  };
  EXPECT_TRUE(says("exit") || outcome.exit_code == 0);
  EXPECT_TRUE(says("rule") || !has_finding(outcome.err));
  for (const Expectation& expected : GetParam().expectations) expect(expected, outcome);
}

INSTANTIATE_TEST_SUITE_P(Cases, CaseFile, testing::ValuesIn(all_cases()), test_name);

}  // namespace
}  // namespace refrain::cases
