// What the configuration classes of real Megatron-Core releases do with given arguments, held
// against `refrain check --batch`: verdict, exception, rewritten fields. See conformance/README.md.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/check/batch.h"
#include "config/knobs/dialect.h"

namespace refrain {
namespace {

using nlohmann::json;

std::string unpacked(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("gzip -dc " + path).c_str(), "r"),
                                                   &pclose);
  std::string text;
  char piece[1 << 16];
  while (const size_t read = fread(piece, 1, sizeof piece, pipe.get())) text.append(piece, read);
  return text;
}

std::set<std::string> names(const json& list) {
  return list.is_null() ? std::set<std::string>{} : list.get<std::set<std::string>>();
}

class Conformance : public testing::TestWithParam<config::Dialect> {};

TEST_P(Conformance, EveryRecordedVerdictIsOurs) {
  const std::string release(to_text(GetParam()));
  std::istringstream records(
      unpacked(REFRAIN_SOURCE_DIR "/tests/cases/conformance/" + release + ".jsonl.gz"));
  int count = 0;
  for (std::string line; std::getline(records, line); ++count) {
    const json record = json::parse(line);
    const json ours = json::parse(cli::judge_line(line, {}));
    SCOPED_TRACE(record["id"].get<std::string>());
    EXPECT_EQ(ours["id"], record["id"]);
    EXPECT_EQ(ours["verdict"], record["verdict"]) << ours["error"];
    EXPECT_EQ(ours["error_type"], record["error_type"]) << ours["error"];
    EXPECT_EQ(ours["effective"], record["effective"]);
    EXPECT_EQ(names(ours["changed"]), names(record["changed"]));
  }
  EXPECT_EQ(count, 1750);
}

std::vector<config::Dialect> releases() {
  std::vector<config::Dialect> all = config::all_dialects();
  std::erase_if(all, [](config::Dialect dialect) { return !is_mcore(dialect); });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Mcore, Conformance, testing::ValuesIn(releases()), [](const auto& one) {
  std::string name(to_text(one.param));
  for (char& c : name) {
    if (c == '-' || c == '.') c = '_';
  }
  return name;
});

}  // namespace
}  // namespace refrain
