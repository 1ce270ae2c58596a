// One row a flag whose meaning is not plain from its spelling: what it takes, what it sets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/knobs/dialect.h"

namespace refrain::config {

/// Releases of Megatron-Bridge whose performance harness reads a flag differently; the newest holds
/// for all that follow.
enum class HarnessRevision { kV0_2, kV0_3, kV0_5 };
constexpr HarnessRevision kNewestHarness = HarnessRevision::kV0_5;

/// Whose programs read the flags.
struct FlagReleases {
  HarnessRevision harness = kNewestHarness;
  Dialect megatron = Dialect::kRefrain;
};

/// The words that a flag takes, and what its own value is.
enum class FlagKind {
  kWord,         // one: null, true, false, a number or text
  kText,         // one, text whatever it looks like
  kTextOrNone,   // one, text, or None
  kWhole,        // one whole number
  kWholeOrNone,  // one whole number, or None
  kYesNo,        // one: true 1 t yes y, false 0 f no n
  kFrequency,    // one whole number or list expression
  kOptional,     // a whole number, or nothing: null
  kWords,        // one or more: a list of them (Megatron-LM)
  kCommaWords,   // one or more, split at commas (the harness)
  kSwitch,       // none: true
  kOff,          // none: false
  kNotAKnob,     // one, of a program that starts the run
  kNotAKnobWords,
  kNotAKnobSwitch,
  kGone,  // none: Megatron-LM refuses it
};

/// Holds for a flag's own value.
enum class When {
  kAlways,
  kPositive,
  kAboveOne,
  kAtMostOne,
  kOne,
  kNotMinusOne,
  kTrue,
  kFalse,
  kNone,
  kNotNone
};

constexpr std::string_view kOwnValue = "$";
constexpr std::string_view kRemoved = "~";

struct FlagEffect {
  std::string_view knob;
  std::string_view value = kOwnValue;  // or kRemoved, or a literal
  When when = When::kAlways;
  HarnessRevision since = HarnessRevision::kV0_2;
  HarnessRevision until = kNewestHarness;
};

struct FlagRow {
  std::string_view spellings;  // by commas
  FlagKind kind;
  std::vector<FlagEffect> effects;
  int rank = 0;  // where two flags set one knob the higher rank wins, in whatever order they stand
  std::string_view needs = {};  // a flag without which this one does nothing
  bool sometimes = false;       // in some releases its knob is no field, and the flag sets nothing
  bool is_harness = false;      // a flag of the performance harness
};

const std::vector<FlagRow>& flag_table();

/// The row of a flag as typed, without a value; null where the general rule holds.
const FlagRow* find_flag(std::string_view flag);

/// The spelling nearest to a flag that nobody has.
std::optional<std::string> nearest_flag(std::string_view flag);

}  // namespace refrain::config
