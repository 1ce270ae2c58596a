// Replays a Program as bytes: what is held at every step, by account, and where the peak is.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "program/program.h"

namespace refrain::ledger {

using Balances = std::array<Bytes, program::kNumAccounts>;
Bytes total(const Balances& balances);

/// `during`: with the step's outputs and scratch; `after`: what it leaves behind.
struct Entry {
  Balances during, after;
};

struct Timeline {
  Balances residents;          // before the first step
  std::vector<Entry> entries;  // one a step
  Bytes peak;                  // highest `during`
  size_t peak_step = 0;        // first step that reaches it
};

Timeline simulate(const program::Program& program);

/// Bytes live while step `step` runs, by account and, below it, by tensor name ("attn.qkv"),
/// summed over layers: the account tree.
struct AccountNode {
  program::Account account;
  Bytes bytes;
  std::map<std::string, Bytes> parts;
};
std::vector<AccountNode> account_tree(const model::ModelGraph& graph,
                                      const program::Program& program, size_t step);

}  // namespace refrain::ledger
