// Paths of Megatron-Bridge's configuration, and which knob stands at one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/finding.h"
#include "config/inputs/values/reading.h"
#include "config/knobs/assignment.h"

namespace refrain::config {

/// The knob at a dotted path: "model.x" is x, "train.micro_batch_size" is micro_batch_size and so
/// on. What is no field of Megatron-Core's configuration classes keeps a dot: "model.vocab_size",
/// "optimizer.lr", and "cfg.peft" for a part of the configuration itself.
std::string knob_name(std::string_view path);

/// Letters, digits, underscores and (not first) dashes, in parts with dots between them.
bool is_knob_path(std::string_view path);

/// The part of the configuration that a dotted path names and that there is none of, "modle" of
/// "modle.x"; nothing where there is one, or no dot.
std::optional<std::string_view> unknown_part(std::string_view path);

/// The part nearest to such a one.
std::optional<std::string> nearest_part(std::string_view part);

/// What a value at a path sets: the knob there, or for mixed_precision=NAME what the recipe of that
/// name sets in the model (`family.unknown-precision` where there is none). A pipeline layout that
/// is a list of lists becomes its text.
Checked<Assignments> assignments_at(std::string_view path, Value value, const Source& source,
                                    const Reading& reading);

/// A note `family.added-and-dropped` where no class has the knob: with a plus Megatron-Bridge adds
/// the key, and drops it when it writes the configuration back.
std::optional<Finding> dropped_addition(const std::string& knob, const Reading& reading);

}  // namespace refrain::config
