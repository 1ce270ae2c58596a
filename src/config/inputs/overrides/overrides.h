// Hydra's and Megatron-Bridge's overrides: "cfg.model.recompute_modules=[a,b]", "++x=1", "~x".
#pragma once

#include <string>
#include <string_view>

#include "base/finding.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// Reads one override: `x=v`, `+x=v` and `++x=v` set, `~x` and `~x=v` take away (with the value
/// that is expected there). Names are paths of Megatron-Bridge's configuration; see knob_name. A
/// dict sets one knob for each of its keys, `x={a:1,b:2}` is `x.a=1 x.b=2`; a dict inside a list
/// stays a value. Sources are overrides, their place is the token. Findings: `override.` no-value,
/// empty-key, malformed-key, malformed-value, number-range, several-values, too-deep, too-long,
/// too-many-knobs, not-text, unknown-part, unknown-precision; as notes added-and-dropped,
/// duplicate-key, empty-dict and text-not-meant.
Checked<Assignments> parse_override(std::string_view token);

/// An override that parse_override reads back as the same knob, value and `removes`.
std::string to_text(const Assignment& assignment);

/// True for a word that is meant as an override: it has an equals sign and does not start with a
/// dash, or it starts with a plus or a tilde (but not with "~/").
bool is_override(std::string_view word);

}  // namespace refrain::config
