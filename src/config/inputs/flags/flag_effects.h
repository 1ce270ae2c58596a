// What flags set, from the table of flags and the general rule, in an order in which later ones
// win.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "config/inputs/flags/derived_flag.h"
#include "config/inputs/flags/flag_table.h"
#include "config/inputs/flags/flag_value.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// Collects assignments from flags and, between them, from elsewhere.
class FlagEffects {
 public:
  explicit FlagEffects(FlagReleases releases) : releases_(releases) {}

  void add(const FlagUse& use);
  /// Takes what is no flag: it keeps its place.
  void add(Checked<Assignments> others);
  void add(Finding finding);

  /// All of it, with a note `flag.not-a-knob` on the flags that set nothing.
  Checked<Assignments> finish();

 private:
  struct Entry {
    Assignment assignment;
    const FlagRow* row = nullptr;  // of a flag that has one
    bool is_flag = false;
  };
  /// A flag whose entries wait for what else is set.
  struct Waiting {
    size_t place;  // before this entry
    const DerivedFlag* flag;
    const FlagRow* row;
    Value own;
    Source source;
  };

  void add_by_row(const FlagRow& row, const FlagUse& use);
  void add_by_rule(const FlagUse& use);
  void add_entry(const FlagEffect& effect, const Value& own, const FlagUse& use,
                 const FlagRow* row);
  bool took(Checked<Value>& value);
  bool is_idle(const FlagRow& row) const;
  const Value* last_value(std::string_view knob) const;
  void derive_waiting();
  void drop_unmet();
  void note_idle();
  void order_by_rank();
  void let_flags_win();
  /// Takes the entries at these places out, and puts them back as `order` leaves them.
  void reorder(const std::vector<size_t>& places,
               const std::function<void(std::vector<Entry>&)>& order);
  void note_overtaken(const Entry& loser, const Entry& winner);

  FlagReleases releases_;
  std::vector<Entry> entries_;
  std::vector<Waiting> waiting_;
  std::vector<std::string> idle_flags_;  // that set no knob
  std::set<std::string> seen_;
  Findings findings_;
};

}  // namespace refrain::config
