// What public threads about memory say a rank must hold, against the accounts of its replay.
//
// threads.jsonl: the thread, the run, the account, and its bytes by the arithmetic or the log of
// the thread, as it prints them (a share or sum of parameters, a buffer's shape), with the
// tolerance that such a figure allows.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "allocator/replay.h"
#include "mcore/memory/rank_stream.h"
#include "run_facts.h"

namespace refrain::cases {
namespace {

using allocator::PostingNode;

/// Bytes of "state/weights" or of "saved", live at the peak; 0 where nothing is posted to it.
double bytes_of(const std::vector<PostingNode>& nodes, const std::string& path) {
  const size_t slash = path.find('/');
  for (const PostingNode& node : nodes) {
    if (node.name != path.substr(0, slash)) continue;
    return slash == std::string::npos ? static_cast<double>(node.blocks.count())
                                      : bytes_of(node.parts, path.substr(slash + 1));
  }
  return 0;
}

TEST(MemoryThreads, AccountsHoldWhatTheThreadsSay) {
  std::ifstream file(std::string(REFRAIN_SOURCE_DIR) + "/tests/cases/memory/threads.jsonl");
  int num_cases = 0;
  for (std::string line; std::getline(file, line); ++num_cases) {
    const auto thread = nlohmann::json::parse(line);
    SCOPED_TRACE(thread.at("thread").get<std::string>());
    const mcore::Run run = run_of(thread.at("facts"));
    const allocator::Result result = allocator::replay(mcore::memory::rank_stream(run, 0, 2), {});
    const double bytes = thread.at("bytes");
    EXPECT_NEAR(bytes_of(result.at_peak, thread.at("account")), bytes,
                bytes * thread.at("tolerance_percent").get<double>() / 100);
  }
  EXPECT_GE(num_cases, 11);
}

}  // namespace
}  // namespace refrain::cases
