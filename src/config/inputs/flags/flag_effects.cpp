#include "config/inputs/flags/flag_effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "config/inputs/flags/megatron_flags.h"
#include "config/inputs/overrides/bridge_path.h"
#include "config/inputs/values/literal.h"
#include "config/knobs/knob_table.h"
#include "config/scan.h"

namespace refrain::config {
namespace {

constexpr size_t kMostBytes = 64 * 1024;  // of a word, before it is cut into pieces

bool holds(When when, const Value& own) {
  const double number = own.is_number() ? own.get<double>() : 0;
  const bool is_none = own.is_null() || own == "none";
  switch (when) {
    case When::kAlways:
      return true;
    case When::kPositive:
      return number > 0;
    case When::kAboveOne:
      return number > 1;
    case When::kAtMostOne:
      return number <= 1;
    case When::kOne:
      return number == 1;
    case When::kNotMinusOne:
      return number != -1;
    case When::kTrue:
      return own == true;
    case When::kFalse:
      return own == false;
    case When::kNone:
      return is_none;
    case When::kNotNone:
      return !is_none;
  }
  return false;
}

Finding unknown(const std::string& flag) {
  const auto near = nearest_flag(flag);
  return {"flag.unknown",
          fmt::format("a flag must be --words-with-dashes, or short as the harness has it: {}",
                      in_quotes(flag)),
          near ? fmt::format("did you mean {}?", *near) : "leave it out"};
}

bool is_long(const FlagUse& use) {
  return use.flag.size() > kMostBytes ||
         std::any_of(use.words.begin(), use.words.end(),
                     [](const std::string& word) { return word.size() > kMostBytes; });
}

Finding too_long(const FlagUse& use) {
  return {"flag.too-long",
          fmt::format("a word must fit into 64 KiB: {} has a longer one", in_quotes(use.flag)),
          "leave it out"};
}

/// "--no-a-b" as a_b and false, "--a-b" as a_b and true.
std::pair<std::string, bool> knob_of(const FlagUse& use) {
  std::string name = use.flag.substr(2);
  bool is_off = false;
  for (const std::string_view prefix : {"no-", "disable-"}) {
    if (is_off || !use.words.empty() || !name.starts_with(prefix)) continue;
    is_off = name.size() > prefix.size();
    if (is_off) name.erase(0, prefix.size());
  }
  std::replace(name.begin(), name.end(), '-', '_');
  return {knob_name(name), is_off};
}

/// Dozens of flags of the harness say how a cluster is reached.
bool is_clusters_flag(std::string_view flag) {
  return flag.starts_with("--kubeflow_") || flag.starts_with("--dgxc_");
}

bool is_known(const std::string& knob) {
  return find_knob(knob) != nullptr || bystander_dialects(knob) != DialectSet();
}

/// Megatron-LM's flags of true and false take no word; underscores are another program's.
bool stops_at_word(const std::string& knob, const FlagUse& use) {
  const Knob* known = find_knob(knob);
  return known != nullptr && type_name(*known) == "true or false" && use.words.size() == 1 &&
         use.flag.find('_') == std::string::npos;
}

}  // namespace

void FlagEffects::add(const FlagUse& use) {
  const size_t before = findings_.size();
  seen_.insert(use.flag.size() > kMostBytes ? "" : use.flag);
  if (is_long(use)) {
    findings_.push_back(too_long(use));
  } else if (const FlagRow* row = find_flag(use.flag)) {
    add_by_row(*row, use);
  } else if (use.flag.starts_with("--") && is_knob_path(std::string_view(use.flag).substr(2))) {
    add_by_rule(use);
  } else {
    findings_.push_back(unknown(use.flag));
  }
  if (use.source.origin != Origin::kFile) return;
  for (size_t i = before; i < findings_.size(); ++i) {
    findings_[i].message = fmt::format("{}: {}", use.source.place, findings_[i].message);
  }
}

void FlagEffects::add(Checked<Assignments> others) {
  std::move(others.findings.begin(), others.findings.end(), std::back_inserter(findings_));
  if (!others.value) return;
  for (Assignment& assignment : *others.value) {
    entries_.push_back({std::move(assignment), nullptr, false});
  }
}

void FlagEffects::add(Finding finding) { findings_.push_back(std::move(finding)); }

void FlagEffects::add_by_row(const FlagRow& row, const FlagUse& use) {
  if (is_idle(row)) return idle_flags_.push_back(use.flag);
  Checked<Value> own = value_of(row.kind, use);
  if (!took(own)) return;
  for (const FlagEffect& effect : row.effects) {
    const bool is_then = effect.since <= releases_.harness && releases_.harness <= effect.until;
    if (is_then && holds(effect.when, *own.value)) add_entry(effect, *own.value, use, &row);
  }
  const DerivedFlag* derived = find_derived_flag(use.flag);
  if (derived != nullptr && derived->since <= releases_.harness) {
    waiting_.push_back({entries_.size(), derived, &row, *own.value, use.source});
  }
}

/// True where it sets nothing in the release whose flags these are.
bool FlagEffects::is_idle(const FlagRow& row) const {
  switch (row.kind) {
    case FlagKind::kNotAKnob:
    case FlagKind::kNotAKnobWords:
    case FlagKind::kNotAKnobSwitch:
      return true;
    default:
      break;
  }
  if (!row.sometimes) return false;
  const std::string_view name = row.effects.at(0).knob;
  const Knob* knob = find_knob(name);
  const DialectSet dialects = knob != nullptr ? knob->dialects : bystander_dialects(name);
  return !dialects.has(releases_.megatron);
}

/// --a-b-c VALUE... is a_b_c; --no-a-b and --disable-a-b alone are a_b=false.
void FlagEffects::add_by_rule(const FlagUse& use) {
  const auto [knob, is_off] = knob_of(use);
  if (!is_known(knob) && (is_megatron_flag(use.flag) || is_clusters_flag(use.flag))) {
    return idle_flags_.push_back(use.flag);
  }
  if (stops_at_word(knob, use)) {
    add(Finding{"flag.switch-with-value",
                fmt::format("{} must stand alone: Megatron-LM stops at {}", use.flag,
                            in_quotes(use.words[0])),
                fmt::format("write {} alone, or leave it out", use.flag), Severity::kNote});
  }
  Checked<Value> value = value_by_rule(use, is_off);
  if (took(value)) add_entry({knob}, *value.value, use, nullptr);
}

void FlagEffects::add_entry(const FlagEffect& effect, const Value& own, const FlagUse& use,
                            const FlagRow* row) {
  Assignment assignment{std::string(effect.knob), own, use.source};
  if (effect.value == kRemoved) {
    assignment.removes = true;
    assignment.value = nullptr;
  } else if (effect.value != kOwnValue) {
    assignment.value = read_scalar(effect.value, {"flag", effect.value}).value.value_or(Value());
  }
  entries_.push_back({std::move(assignment), row, true});
}

/// Keeps the findings; true where there is a value.
bool FlagEffects::took(Checked<Value>& value) {
  findings_.insert(findings_.end(), value.findings.begin(), value.findings.end());
  return value.value.has_value();
}

const Value* FlagEffects::last_value(std::string_view knob) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->assignment.knob == knob) return &entry->assignment.value;
  }
  return nullptr;
}

/// What is set is asked before anything is added, and places count from the end to stay right.
void FlagEffects::derive_waiting() {
  const auto lookup = [this](std::string_view knob) { return last_value(knob); };
  std::vector<DerivedValues> derived;
  for (const Waiting& each : waiting_) derived.push_back(each.flag->values(each.own, lookup));
  for (size_t i = waiting_.size(); i-- > 0;) {
    const Waiting& each = waiting_[i];
    std::vector<Entry> made;
    for (auto& [knob, value] : derived[i].knobs) {
      made.push_back({{std::string(knob), std::move(value), each.source}, each.row, true});
    }
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(each.place),
                    std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  }
  for (DerivedValues& each : derived) {
    for (Finding& finding : each.findings) add(std::move(finding));
  }
  waiting_.clear();
}

/// Megatron-LM reads some flags only beside another.
void FlagEffects::drop_unmet() {
  std::set<std::string> told;
  std::erase_if(entries_, [&](const Entry& entry) {
    if (entry.row == nullptr || entry.row->needs.empty()) return false;
    const std::string needed(entry.row->needs);
    if (seen_.contains(needed)) return false;
    const std::string& place = entry.assignment.source.place;
    if (told.insert(place).second) {
      add(Finding{"flag.needs-flag",
                  fmt::format("{} must stand beside {}: Megatron-LM leaves it out", needed,
                              in_quotes(place)),
                  fmt::format("add {}", needed), Severity::kNote});
    }
    return true;
  });
}

void FlagEffects::note_idle() {
  if (idle_flags_.empty()) return;
  add(Finding{"flag.not-a-knob",
              fmt::format("a flag must set a knob to be judged: {} set none", joined(idle_flags_)),
              "what they choose has to be given as knobs, or as a recipe", Severity::kNote});
}

/// Flags that set one knob stand in the order of their ranks, and what is no flag stays where it
/// is.
void FlagEffects::order_by_rank() {
  const auto rank = [](const Entry& entry) { return entry.row == nullptr ? 0 : entry.row->rank; };
  std::map<std::string, std::vector<size_t>> places;  // of each knob's flags
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].is_flag) places[entries_[i].assignment.knob].push_back(i);
  }
  for (const auto& [knob, indices] : places) {
    reorder(indices, [&](std::vector<Entry>& entries) {
      std::stable_sort(entries.begin(), entries.end(),
                       [&](const Entry& a, const Entry& b) { return rank(a) < rank(b); });
    });
  }
}

/// The harness applies its flags after all overrides, in whatever order they are typed; with
/// --use_recipes it is the other way round.
void FlagEffects::let_flags_win() {
  if (seen_.contains("--use_recipes")) return;
  std::map<std::string, std::vector<size_t>>
      places;  // of the knobs that a flag of it sets, from it on
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const auto found = places.find(entry.assignment.knob);
    if (found != places.end()) {
      found->second.push_back(i);
    } else if (entry.row != nullptr && entry.row->is_harness) {
      places[entry.assignment.knob].push_back(i);
    }
  }
  for (const auto& [knob, indices] : places) {
    reorder(indices, [&](std::vector<Entry>& entries) {
      const auto flags = std::stable_partition(entries.begin(), entries.end(),
                                               [](const Entry& entry) { return !entry.is_flag; });
      if (flags != entries.begin()) note_overtaken(entries.front(), *flags);
    });
  }
}

void FlagEffects::reorder(const std::vector<size_t>& places,
                          const std::function<void(std::vector<Entry>&)>& order) {
  std::vector<Entry> taken;
  for (const size_t i : places) taken.push_back(std::move(entries_[i]));
  order(taken);
  for (size_t i = 0; i < places.size(); ++i) entries_[places[i]] = std::move(taken[i]);
}

void FlagEffects::note_overtaken(const Entry& loser, const Entry& winner) {
  add(Finding{"flag.wins",
              fmt::format("{} must be set once: the harness applies {} after {}, whatever their "
                          "order",
                          winner.assignment.knob, in_quotes(winner.assignment.source.place),
                          in_quotes(loser.assignment.source.place)),
              "keep the one you mean; with --use_recipes overrides win", Severity::kNote});
}

Checked<Assignments> FlagEffects::finish() {
  derive_waiting();
  drop_unmet();
  note_idle();
  if (rejects(findings_)) return Checked<Assignments>::reject(std::move(findings_));
  order_by_rank();
  let_flags_win();
  Assignments assignments;
  for (Entry& entry : entries_) assignments.push_back(std::move(entry.assignment));
  return Checked<Assignments>::accept(std::move(assignments), std::move(findings_));
}

}  // namespace refrain::config
