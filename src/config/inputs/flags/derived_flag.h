// Flags that say a knob's value in terms of other knobs.
#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/finding.h"
#include "config/inputs/flags/flag_table.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// What the same command line or file sets a knob to; null where it does not.
using KnobLookup = std::function<const Value*(std::string_view knob)>;

/// What it comes to: knobs and their values, or nothing with findings that say why.
struct DerivedValues {
  std::vector<std::pair<std::string_view, Value>> knobs;
  Findings findings;
};

struct DerivedFlag {
  std::string_view flag;
  /// For the flag's own value. Findings: `flag.not-divisible`, `flag.scope-alone`,
  /// `flag.scope-not-with-te`; as notes `flag.needs-knob` where a knob is missing for it, and
  /// `flag.switched-off`.
  DerivedValues (*values)(const Value& own, const KnobLookup& knobs);
  HarnessRevision since = HarnessRevision::kV0_2;
};

/// Null where a flag says all by itself.
const DerivedFlag* find_derived_flag(std::string_view flag);

}  // namespace refrain::config
