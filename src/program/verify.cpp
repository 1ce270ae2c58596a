// Verification: a second set of books.
//
// The walk keeps, for every Value, whether it is live, whether it has been written, and for
// gradients which contributions it holds. What a gradient must hold when somebody reads it follows
// from the graph alone: one contribution from each reader of its tensor, or, where that reader
// passes its own output's gradient on in the same storage, whatever that one must hold. Sets of
// contributions are compared as sums of 64-bit hashes.

#include "program/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace refrain::program {
namespace {

uint64_t contribution(OpRef op, size_t read) {
  // SplitMix64's finaliser (Steele, Lea and Flood 2014) over the position.
  uint64_t z = (static_cast<uint64_t>(op.block) << 40) + (static_cast<uint64_t>(op.op) << 8) + read;
  z = (z + 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// The gradient of this read is the op's own output gradient, in its storage.
bool passes_on(const model::Op& op, size_t read) {
  const auto& shared = op.shared_gradient_reads;
  return std::find(shared.begin(), shared.end(), static_cast<int>(read)) != shared.end();
}

class Walk {
 public:
  Walk(const model::ModelGraph& graph, const Program& program, ReplayPolicy policy)
      : graph_(graph), program_(program), policy_(policy), books_(program.values.size()) {
    for (ValueId v : program.residents) {
      books_[v].resident = true;
      begin(v);
      books_[v].written = true;
    }
    find_expected();
  }

  std::vector<std::string> run() {
    for (index_ = 0; index_ < program_.steps.size(); ++index_) walk(program_.steps[index_]);
    for (size_t v = 0; v < books_.size(); ++v) {
      const Book& book = books_[v];
      if (book.resident != book.live) {
        complain(book.resident ? "ends, a resident" : "is left at the end",
                 static_cast<ValueId>(v));
      }
    }
    if (policy_ == ReplayPolicy::kDemand) check_replays_are_read();
    return std::move(complaints_);
  }

 private:
  struct Book {
    bool resident = false, live = false, begun = false, written = false, read = false;
    uint64_t holds = 0;  // gradients of activations: sum of contributions
  };

  void complain(std::string_view what, ValueId v) {
    complaints_.push_back(fmt::format("step {} ({}): {} {}", index_, step_name(),
                                      describe(graph_, program_, program_.values[v]), what));
  }
  void complain_step(std::string_view what) {
    complaints_.push_back(fmt::format("step {} ({}): {}", index_, step_name(), what));
  }
  std::string step_name() const {
    return index_ < program_.steps.size() ? describe(graph_, program_, program_.steps[index_])
                                          : "end";
  }

  void begin(ValueId v) {
    if (std::exchange(books_[v].begun, true)) complain("is born twice", v);
    books_[v].live = true;
  }
  void end(ValueId v) {
    if (!std::exchange(books_[v].live, false)) complain("ends, but is not live", v);
  }

  void find_expected() {
    for (size_t b = 0; b < graph_.blocks.size(); ++b) {
      expected_.emplace_back(graph_.graph(b).tensors.size(), 0);
    }
    for (auto b = static_cast<int32_t>(graph_.blocks.size()) - 1; b >= 0; --b) {
      const auto& ops = graph_.graph(b).ops;
      for (auto o = static_cast<int32_t>(ops.size()) - 1; o >= 0; --o) expect_from({b, o}, ops[o]);
    }
  }
  void expect_from(OpRef ref, const model::Op& op) {
    for (size_t i = 0; i < op.reads.size(); ++i) {
      expected(ref.block, op.reads[i]) +=
          passes_on(op, i) ? expected(ref.block, op.writes[0]) : contribution(ref, i);
    }
  }
  uint64_t& expected(int32_t block, model::TensorId tensor) {
    const model::LayerGraph& graph = graph_.graph(block);
    if (tensor != graph.input) return expected_[block][tensor];
    return expected_[block - 1][*graph_.graph(block - 1).output];
  }

  void read(ValueId v) {
    Book& book = books_[v];
    if (!book.live) complain("is read, but is not live", v);
    if (!book.written) complain("is read before it is written", v);
    book.read = true;
  }
  void write(ValueId v) {
    if (!books_[v].live) complain("is written, but is not live", v);
    books_[v].written = true;
  }

  void walk(const Step& step) {
    for (ValueId v : step.born) begin(v);
    check_params(step);
    for (const Step::Takeover& t : step.takeovers) {
      begin(t.to);
      const auto& from = program_.values[t.from];
      if (from.bytes() != program_.values[t.to].bytes()) complain("is taken over in part", t.from);
    }
    for (ValueId v : step.reads) read(v);
    read_gradients(step);
    write_all(step);
    for (const Step::Takeover& t : step.takeovers) end(t.from);
    if (step.kind == StepKind::kReplay) note_replay(step);
    if (step.kind == StepKind::kUpdate) updated_.insert(step.param);
    for (ValueId v : step.freed) end(v);
  }

  void check_params(const Step& step) {
    for (ValueId v : step.params) {
      if (!books_[v].resident) complain("is a parameter, but not a resident", v);
      if (updated_.contains(program_.values[v].param)) complain("was updated before this", v);
    }
  }

  void read_gradients(const Step& step) {
    for (size_t i = 0; i < step.write_gradients.size(); ++i) {
      const ValueId v = step.write_gradients[i];
      if (v == kNoValue) continue;
      read(v);
      const model::Op& op = graph_.graph(step.op.block).ops[step.op.op];
      if (books_[v].holds != expected(step.op.block, op.writes[i])) {
        complain("is read, but does not hold just the contributions it should", v);
      }
    }
  }

  void write_all(const Step& step) {
    for (size_t i = 0; i < step.writes.size(); ++i) {
      const ValueId v = step.writes[i];
      if (v == kNoValue) continue;
      const bool is_gradient = program_.values[v].kind == ValueKind::kActivationGradient;
      const bool shared = is_gradient && passes_on(graph_.graph(step.op.block).ops[step.op.op], i);
      const bool in_use = std::find(step.write_gradients.begin(), step.write_gradients.end(), v) !=
                          step.write_gradients.end();
      if (in_use && !shared) complain("is added to while it is read", v);
      const bool adds = i < step.accumulate.size() && step.accumulate[i];
      if (adds) read(v);
      write(v);
      if (!is_gradient || shared) continue;
      books_[v].holds = (adds ? books_[v].holds : 0) + contribution(step.op, i);
    }
    for (size_t i = 0; i < step.param_gradients.size(); ++i) {
      const ValueId v = step.param_gradients[i];
      if (step.accumulate_params[i]) {
        read(v);
      } else if (books_[v].written) {
        complain("is overwritten", v);
      }
      write(v);
    }
  }

  void note_replay(const Step& step) {
    if (policy_ != ReplayPolicy::kDemand) return;
    if (!replayed_ops_.emplace(step.micro_batch, step.op).second)
      complain_step("is a second replay");
    std::vector<ValueId> anew;
    for (ValueId v : step.writes) {
      if (program_.values[v].replayed) anew.push_back(v);
    }
    replays_.emplace_back(index_, std::move(anew));
  }

  void check_replays_are_read() {
    for (const auto& [step, values] : replays_) {
      index_ = step;
      const bool is_read =
          std::any_of(values.begin(), values.end(), [&](ValueId v) { return books_[v].read; });
      if (!is_read) complain_step("is a replay whose output nobody reads");
    }
  }

  const model::ModelGraph& graph_;
  const Program& program_;
  ReplayPolicy policy_;
  std::vector<Book> books_;
  std::vector<std::vector<uint64_t>> expected_;  // [block][tensor]: what its gradient must hold
  std::set<int32_t> updated_;
  std::set<std::pair<int32_t, OpRef>> replayed_ops_;
  std::vector<std::pair<size_t, std::vector<ValueId>>> replays_;
  std::vector<std::string> complaints_;
  size_t index_ = 0;
};

}  // namespace

std::vector<std::string> verify(const model::ModelGraph& graph, const Program& program,
                                ReplayPolicy policy) {
  return Walk(graph, program, policy).run();
}

}  // namespace refrain::program
