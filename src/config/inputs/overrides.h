// Hydra's and Megatron-Bridge's overrides: "cfg.model.recompute_modules=[a,b]", "++x=1", "~x".
#pragma once

#include <string>
#include <string_view>

#include "base/finding.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// Reads one override: `x=v`, `+x=v` and `++x=v` set, `~x` and `~x=v` take away (with the value
/// that is expected there). Of the name, "cfg." and then "model." go; see knob_name. A dict sets
/// one knob for each of its keys, `x={a:1,b:2}` is `x.a=1 x.b=2`; a dict inside a list stays a
/// value. Sources are overrides, their place is the token. Findings: `override.` no-value,
/// empty-key, malformed-key, malformed-value, number-range, several-values, too-deep, too-long,
/// too-many-knobs, not-text; as notes duplicate-key and empty-dict.
Checked<Assignments> parse_override(std::string_view token);

/// An override that parse_override reads back as the same knob, value and `removes`.
std::string to_text(const Assignment& assignment);

/// True for a word that is meant as an override: it has an equals sign and does not start with a
/// dash, or it starts with a plus or a tilde (but not with "~/").
bool is_override(std::string_view word);

/// The knob at a dotted path of Megatron-Bridge's configuration: "model.x" is x,
/// "train.micro_batch_size" is micro_batch_size and so on; what has no plain name stays dotted.
std::string knob_name(std::string_view path);

/// Letters, digits, underscores and (not first) dashes, in parts with dots between them.
bool is_knob_path(std::string_view path);

}  // namespace refrain::config
