// What flags set, from the table of flags and the general rule, in an order in which later ones
// win.
#pragma once

#include <string>
#include <vector>

#include "base/finding.h"
#include "config/inputs/flag_table.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// A flag with the words that stand after it.
struct FlagUse {
  std::string flag;  // as typed, with its dashes
  std::vector<std::string> words;
  Source source;
};

/// "[a b]" and "[a,b]" as a and b, other words as they are: how a shell cuts a bracketed list of a
/// Megatron-LM test file.
std::vector<std::string> without_brackets(const std::vector<std::string>& words);

/// Collects assignments from flags and, between them, from elsewhere.
class FlagEffects {
 public:
  explicit FlagEffects(HarnessRevision revision) : revision_(revision) {}

  void add(const FlagUse& use);
  /// Takes what is no flag: it keeps its place.
  void add(Checked<Assignments> others);
  void add(Finding finding);

  /// All of it, with a note `flag.not-a-knob` on the flags that set nothing.
  Checked<Assignments> finish();

 private:
  struct Entry {
    Assignment assignment;
    int rank = 0;
    bool is_flag = false;
  };

  void add_by_row(const FlagRow& row, const FlagUse& use);
  void add_by_rule(const FlagUse& use);
  void add_entry(const FlagEffect& effect, const Value& own, const FlagUse& use, int rank);
  bool took(Checked<Value>& value);
  void order_by_rank();

  HarnessRevision revision_;
  std::vector<Entry> entries_;
  std::vector<std::string> launcher_flags_;
  Findings findings_;
};

}  // namespace refrain::config
