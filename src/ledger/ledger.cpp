#include "ledger/ledger.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace refrain::ledger {
namespace {

using program::Program;
using program::Step;
using program::ValueId;

Bytes& balance(Balances& balances, program::Account account) {
  return balances[static_cast<size_t>(account)];
}

class Book {
 public:
  explicit Book(const Program& program) : program_(program) {
    for (ValueId v : program.residents) post(v, 1);
  }

  const Balances& balances() const { return balances_; }

  void begin(const Step& step) {
    for (ValueId v : step.born) post(v, 1);
    for (const Step::Takeover& t : step.takeovers) {
      post(t.from, -1);
      post(t.to, 1);
    }
    balance(balances_, step.scratch_account) += step.scratch;
  }

  void end(const Step& step) {
    balance(balances_, step.scratch_account) -= step.scratch;
    for (ValueId v : step.freed) post(v, -1);
  }

 private:
  void post(ValueId v, int64_t sign) {
    const program::Value& value = program_.values[v];
    balance(balances_, value.account) += value.bytes() * sign;
  }

  const Program& program_;
  Balances balances_{};
};

/// Parameters of all layers under one name: "layers.*.attn.qkv_proj.weight".
std::string part_name(const model::ModelGraph& graph, const Program& program,
                      const program::Value& value) {
  std::string name = program::name_of(graph, program, value);
  constexpr std::string_view kPrefix = "layers.";
  if (name.starts_with(kPrefix)) {
    name.replace(kPrefix.size(), name.find('.', kPrefix.size()) - kPrefix.size(), "*");
  }
  return name;
}

}  // namespace

Bytes total(const Balances& balances) {
  return std::accumulate(balances.begin(), balances.end(), Bytes());
}

Timeline simulate(const Program& program) {
  Book book(program);
  Timeline timeline{.residents = book.balances()};
  timeline.entries.reserve(program.steps.size());
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    book.begin(step);
    Entry entry{.during = book.balances()};
    book.end(step);
    entry.after = book.balances();
    const Bytes held = total(entry.during);
    if (held > timeline.peak) {
      timeline.peak = held;
      timeline.peak_step = s;
    }
    timeline.entries.push_back(entry);
  }
  RC_CHECK(timeline.entries.empty() || timeline.entries.back().after == timeline.residents,
           "the last step leaves {} bytes, the first found {}",
           total(timeline.entries.back().after).count(), total(timeline.residents).count());
  return timeline;
}

std::vector<AccountNode> account_tree(const model::ModelGraph& graph, const Program& program,
                                      size_t step) {
  std::vector<int> live(program.values.size(), 0);
  for (ValueId v : program.residents) live[v] = 1;
  for (size_t s = 0; s <= step; ++s) {
    for (ValueId v : program.steps[s].born) live[v] = 1;
    for (const Step::Takeover& t : program.steps[s].takeovers) {
      live[t.from] = 0;
      live[t.to] = 1;
    }
    if (s == step) break;
    for (ValueId v : program.steps[s].freed) live[v] = 0;
  }
  std::vector<AccountNode> tree;
  for (int a = 0; a < program::kNumAccounts; ++a) {
    tree.push_back({.account = static_cast<program::Account>(a)});
  }
  const auto post = [&](program::Account account, const std::string& part, Bytes bytes) {
    AccountNode& node = tree[static_cast<size_t>(account)];
    node.bytes += bytes;
    node.parts[part] += bytes;
  };
  for (size_t v = 0; v < live.size(); ++v) {
    const program::Value& value = program.values[v];
    if (live[v]) post(value.account, part_name(graph, program, value), value.bytes());
  }
  const Step& at = program.steps[step];
  if (at.scratch > Bytes()) post(at.scratch_account, describe(graph, program, at), at.scratch);
  return tree;
}

}  // namespace refrain::ledger
