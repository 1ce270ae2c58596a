// One row a knob. Parsers, printouts, `refrain knobs` and docs/knobs.md read it, and nothing else
// says what a knob is called, which releases have it or what it holds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/finding.h"
#include "config/knobs/assignment.h"
#include "config/knobs/dialect.h"
#include "config/knobs/knobs.h"

namespace refrain::config {

using Member = std::variant<bool Knobs::*, std::optional<bool> Knobs::*, int64_t Knobs::*,
                            std::optional<int64_t> Knobs::*, double Knobs::*,
                            std::optional<double> Knobs::*, std::string Knobs::*,
                            std::optional<std::string> Knobs::*, std::optional<WordList> Knobs::*,
                            LayerFrequency Knobs::*, std::optional<LayerFrequency> Knobs::*>;

struct Knob {
  std::string_view name;
  Member member;
  DialectSet dialects;  // that have it
  std::string_view group;
  std::string_view legal;  // values, range and unit in words; empty: true or false
  std::string_view effect;
  std::string_view aliases;  // other names, by commas
};

std::span<const Knob> knob_table();

/// By name or alias, dashes and underscores alike; null where there is none.
const Knob* find_knob(std::string_view name);

/// A field of Megatron-Core's configuration classes that no rule and no prediction reads: the
/// dialects that have it, none where nobody does.
DialectSet bystander_dialects(std::string_view name);

/// "true or false" | "whole number" | "text" | ...
std::string_view type_name(const Knob& knob);

Value value_of(const Knobs& knobs, const Knob& knob);

/// Sets the knob; false, with nothing changed, where the value is of another type.
bool set_value(Knobs& knobs, const Knob& knob, const Value& value);

/// What a dialect's knobs hold where nobody sets them.
Knobs defaults_of(Dialect dialect);

}  // namespace refrain::config
