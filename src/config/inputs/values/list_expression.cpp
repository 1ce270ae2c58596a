// As Megatron-LM evaluates layer patterns (arguments.py, _eval_pattern): sums of products of
// numbers, [lists] and (parentheses).
#include "config/inputs/values/list_expression.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kMostCharacters = 4096;
constexpr size_t kMostElements = 65536;
constexpr int64_t kMostNumber = 1'000'000'000;
constexpr int kMostParentheses = 16;

struct Term {
  bool is_list = false;
  int64_t number = 0;
  std::vector<int64_t> list;
};

/// Recursive descent; the first thing that is wrong is what `complaint` says, and ends it.
class Evaluator {
 public:
  explicit Evaluator(std::string_view text) : text_(text) {}

  Term evaluate() {
    Term term = sum(0);
    if (at_ < text_.size()) fail("the expression must end where it is complete");
    return term;
  }
  std::string_view complaint() const { return complaint_; }

 private:
  Term sum(int depth) {
    Term total = product(depth);
    while (ok() && take('+')) add(total, product(depth));
    return total;
  }

  Term product(int depth) {
    Term total = factor(depth);
    while (ok() && take('*')) multiply(total, factor(depth));
    return total;
  }

  Term factor(int depth) {
    if (depth > kMostParentheses) return fail("parentheses must be nested 16 deep at most"), Term();
    if (take('(')) {
      Term inner = sum(depth + 1);
      if (ok() && !take(')')) fail("( must be closed");
      return inner;
    }
    if (take('[')) return list();
    return {.number = number()};
  }

  Term list() {
    Term result{.is_list = true};
    while (ok() && !take(']')) {
      result.list.push_back(number());
      if (peek() != ']' && !take(',')) fail("[ must be closed, and hold whole numbers");
    }
    return result;
  }

  int64_t number() {
    skip_blanks();
    const size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    const auto value = parse_whole(text_.substr(at_, end - at_));
    at_ = end;
    if (!value || *value > kMostNumber)
      return fail("a whole number from 0 to 10^9 must be here"), 0;
    return *value;
  }

  void add(Term& total, Term&& more) {
    if (!ok()) return;
    if (total.is_list != more.is_list) return fail("a list is added to a list only");
    if (total.list.size() + more.list.size() > kMostElements) return too_long();
    total.number += more.number;
    if (total.number > kMostNumber) return fail("a whole number must not exceed 10^9");
    total.list.insert(total.list.end(), more.list.begin(), more.list.end());
  }

  void multiply(Term& total, Term&& more) {
    if (!ok()) return;
    if (total.is_list && more.is_list) return fail("a list is multiplied by a number only");
    if (more.is_list) std::swap(total, more);
    if (!total.is_list) {
      total.number *= more.number;  // both within 10^9
      if (total.number > kMostNumber) fail("a whole number must not exceed 10^9");
      return;
    }
    const auto times = static_cast<size_t>(more.number);
    if (total.list.size() * times > kMostElements) return too_long();
    const std::vector<int64_t> once = std::move(total.list);
    total.list.clear();
    for (size_t i = 0; i < times && !once.empty(); ++i) {
      total.list.insert(total.list.end(), once.begin(), once.end());
    }
  }

  void too_long() { fail("a list must have 65536 elements at most"); }
  void fail(std::string_view complaint) {
    if (ok()) complaint_ = complaint;
  }
  bool ok() const { return complaint_.empty(); }

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }
  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string_view complaint_;
};

Finding bad_expression(std::string_view must_hold, const Reading& reading) {
  return {fmt::format("{}.list-expression", reading.family),
          fmt::format("{}: {}", must_hold, in_quotes(reading.typed)),
          "write a whole number, or a pattern such as ([0]*3+[1]*58)"};
}

}  // namespace

Checked<Value> evaluate_list_expression(std::string_view text, const Reading& reading) {
  text = trimmed(text);
  if (text.size() > kMostCharacters) {
    return Checked<Value>::reject(
        {bad_expression("a list expression must have 4096 characters at most", reading)});
  }
  Evaluator evaluator(text);
  const Term term = evaluator.evaluate();
  if (!evaluator.complaint().empty()) {
    return Checked<Value>::reject({bad_expression(evaluator.complaint(), reading)});
  }
  return Checked<Value>::accept(term.is_list ? Value(term.list) : Value(term.number));
}

}  // namespace refrain::config
